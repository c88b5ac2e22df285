"""Settings of Django's own tests against the server that `run` has started. Results go to the file
DJANGO_FILE in DJANGO_RESULTS."""

import os


def database(name):
    return {
        "ENGINE": "mssql",
        "NAME": name,
        "HOST": os.environ["RINGWOOD_HOST"],
        "PORT": os.environ["RINGWOOD_PORT"],
        "USER": os.environ["RINGWOOD_USER"],
        "PASSWORD": os.environ["RINGWOOD_PASSWORD"],
        "OPTIONS": {
            "driver": "ODBC Driver 18 for SQL Server",
            "extra_params": "Encrypt=optional;TrustServerCertificate=yes",
        },
    }


DATABASES = {"default": database("django_default"), "other": database("django_other")}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TEST_RUNNER = "django_runner.Runner"
TEST_OUTPUT_DIR = os.environ["DJANGO_RESULTS"]
TEST_OUTPUT_FILE_NAME = os.environ["DJANGO_FILE"]
