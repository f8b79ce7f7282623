//! Environment variables that look like secrets.
//!
//! They are withheld from evaluators, unless the configuration passes them on. Names are compared without regard to
//! case, word by word: words are separated by characters that are neither letters nor digits, and trailing digits are
//! ignored.
//!
//! | withheld | for example |
//! |---|---|
//! | names with `PASSWORD`, `PASSWD`, `PASSPHRASE`, `SECRET` or `CREDENTIAL` anywhere in them | `PGPASSWORD`, `CLIENT_SECRET`, `GOOGLE_APPLICATION_CREDENTIALS` |
//! | the words `KEY`, `KEYS`, and words like `APIKEY`; not with the word `PUBLIC`, nor `GIT_CONFIG_KEY_0` | `OPENAI_API_KEY`, `SSH_KEY` |
//! | the words `TOKEN`, `TOKENS`, and words that end so; not with a word for an amount, such as `MAX` or `COUNT` | `GITHUB_TOKEN`, `NODE_AUTH_TOKEN`; not `MAX_TOKENS` |
//! | the words `PASS`, `ASKPASS`, `SSHPASS`, `JWT`, `DSN`, `BEARER`, `AUTHORIZATION` | `SMTP_PASS`, `SENTRY_DSN` |
//! | `AUTH`, `PAT`, `PWD`, `COOKIE`, `HEADERS`, `WEBHOOK` as the last of several words, and connection strings | `GITHUB_PAT`, `MYSQL_PWD`, `OTEL_EXPORTER_OTLP_HEADERS` |
//! | `.._URL` and `.._URI` of databases, brokers and webhooks | `DATABASE_URL`, `CELERY_BROKER_URL` |
//! | all variables of two clouds, and sessions of password managers: `AWS_*`, `AZURE_*`, `OP_SESSION_*`, `BW_SESSION` | `AWS_ACCESS_KEY_ID` |
//! | locations of keys and logins: `SSH_AUTH_SOCK`, `KUBECONFIG`, `NETRC`, `DOCKER_AUTH_CONFIG`, `PGPASSFILE` | |
//! | addresses of models that another host offers: `AGENTV_TARGET_PROXY_URL`, `AGENTV_PROVIDER_PROXY_URL`, and their tokens | |
//! | any name, if the value is or contains a URL with a password, or an `http` URL with a user name | `https_proxy=http://me:pw@proxy` |
//!
//! Never withheld by name: `PWD`, `OLDPWD`, `XDG_*` and `AWS_CA_BUNDLE`.

/// Prefixes of names that are withheld.
const PREFIXES: &str = "AWS_ AZURE_ OP_SESSION_";

/// Prefixes of names that are not withheld. Certificates to trust are not secret.
const OPEN_PREFIXES: &str = "XDG_ GIT_CONFIG_KEY_ AWS_CA_BUNDLE";

const NAMES: &str = "\
    AGENTV_PROVIDER_PROXY_URL AGENTV_TARGET_PROXY_URL BW_SESSION DOCKER_AUTH_CONFIG KUBECONFIG NETRC PGPASSFILE \
    SSH_AUTH_SOCK";

/// Texts anywhere in a name.
const PARTS: &str = "CONNECTION_STRING CONNECTIONSTRING CONN_STR CONNSTR CREDENTIAL PASSPHRASE PASSWD PASSWORD SECRET";

const WORDS: &str = "ASKPASS AUTHORIZATION BEARER DBPASS DSN JWT PASS SSHPASS PASSKEY";

/// The last of several words.
const LAST_WORDS: &str = "AUTH COOKIE COOKIES HEADERS PAT PWD WEBHOOK";

/// Words that end in `KEY` and name a key, unlike hotkey, monkey and turkey.
const KEYS: &str = "\
    ACCESSKEY ACCOUNTKEY APIKEY APPKEY AUTHKEY DEPLOYKEY ENCRYPTIONKEY MASTERKEY PRIVATEKEY PRIVKEY SIGNINGKEY \
    SSHKEY";

/// Words that turn tokens into an amount or a lifetime.
const AMOUNTS: &str =
    "BUDGET COUNT LENGTH LIMIT LIMITS MAX MAXIMUM MIN MINIMUM NUM NUMBER PER SIZE TTL WINDOW";

/// Services whose URLs contain logins.
const SERVICES: &str = "\
    AMQP BROKER CLICKHOUSE CLOUDAMQP DATABASE DB ELASTICSEARCH MARIADB MONGO MONGODB MYSQL PG POSTGRES POSTGRESQL \
    RABBITMQ REDIS SQLALCHEMY WEBHOOK";

/// Returns true if a variable looks like a secret, by its name or because its value contains a password.
pub fn looks_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || holds_login(value)
}

/// Returns true if a variable looks like a secret by its name.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if OPEN_PREFIXES.split(' ').any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    let named = PREFIXES.split(' ').any(|prefix| name.starts_with(prefix))
        || is_listed(&name, NAMES)
        || PARTS.split(' ').any(|part| name.contains(part));
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()))
        .filter(|word| !word.is_empty())
        .collect();
    named || is_secret_by_words(&words)
}

fn is_secret_by_words(words: &[&str]) -> bool {
    let has = |known: &str| words.iter().any(|word| is_listed(word, known));
    let is_key = |word: &&str| {
        matches!(*word, "KEY" | "KEYS")
            || KEYS.split(' ').any(|key| word.trim_end_matches('S').ends_with(key))
    };
    let is_token = |word: &&str| word.trim_end_matches('S').ends_with("TOKEN");
    let Some((last, others)) = words.split_last() else { return false };
    has(WORDS)
        || words.iter().any(is_key) && !has("PUBLIC")
        || words.iter().any(is_token) && !has(AMOUNTS)
        || !others.is_empty() && is_listed(last, LAST_WORDS)
        || matches!(*last, "URL" | "URLS" | "URI") && has(SERVICES)
}

/// Returns true if a value is or contains a URL with a login.
fn holds_login(value: &str) -> bool {
    value.match_indices("://").any(|(place, separator)| {
        let rest = &value[place + separator.len()..];
        let ends = |c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace();
        let authority = rest.split(ends).next().unwrap_or_default();
        let Some((login, _host)) = authority.rsplit_once('@') else { return false };
        let has_password = login.split_once(':').is_some_and(|(_, password)| !password.is_empty());
        // Services accept tokens as user names. `ssh://git@host` is not such a URL.
        let scheme = value[..place].to_ascii_lowercase();
        let is_http = scheme.ends_with("http") || scheme.ends_with("https");
        has_password || is_http && !login.trim_end_matches(':').is_empty()
    })
}

/// Returns true if `list`, which is separated by whitespace, contains `name`.
pub(crate) fn is_listed(name: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHHELD: &str = "
        OPENAI_API_KEY ANTHROPIC_API_KEY GOOGLE_API_KEY openai_api_key OpenaiApiKey OPENAI_APIKEY API_KEYS API_KEY_2 API_KEY2 APIKEYS
        KEY SSH_KEY SSH_PRIVATE_KEY SIGNING_KEY ENCRYPTION_KEY SSH_KEY_PATH STRIPE-KEY gcp.sa.key MYSQL_SSL_KEY PASSKEY
        GITHUB_TOKEN GH_TOKEN AGENTEVALS_GITHUB_TOKEN HF_TOKEN NPM_TOKEN NODE_AUTH_TOKEN CARGO_REGISTRY_TOKEN CI_JOB_TOKEN TOKEN
        VAULT_TOKEN SLACK_TOKEN_PROD MYTOKEN ACCESS_TOKENS API_TOKENS ACTIONS_ID_TOKEN_REQUEST_TOKEN npm_config__authToken
        DB_PASSWORD PGPASSWORD DBPASSWORD MYSQL_ROOT_PASSWORD password TF_VAR_db_password SMTP_PASS SSHPASS SUDO_ASKPASS GIT_ASKPASS
        GPG_PASSPHRASE LDAP_PASSWD MYSQL_PWD RCLONE_CONFIG_X_PASS
        CLIENT_SECRET SECRET_KEY_BASE AWS_SECRET_ACCESS_KEY MYSECRET DJANGO_SECRET SECRETS
        AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AZURE_CLIENT_ID AZURE_OPENAI_ENDPOINT
        GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CREDENTIALS CREDENTIALS_DIRECTORY
        DATABASE_URL DATABASE_URI TEST_DATABASE_URL DB_URL REDIS_URL MONGODB_URI CELERY_BROKER_URL SLACK_WEBHOOK_URL SLACK_WEBHOOK
        SENTRY_DSN AZURE_STORAGE_CONNECTION_STRING SERVICEBUS_CONNECTION_STRING SQLCONNSTR_MAIN
        SSH_AUTH_SOCK KUBECONFIG NETRC DOCKER_AUTH_CONFIG PGPASSFILE BW_SESSION OP_SESSION_my
        NPM_CONFIG__AUTH HTTP_AUTH GITHUB_PAT CI_JOB_JWT CI_JOB_JWT_V2 OTEL_EXPORTER_OTLP_HEADERS SESSION_COOKIE HTTP_AUTHORIZATION";

    const OPEN: &str = "
        PATH HOME LANG LANGUAGE LC_ALL TZ TMPDIR TEMP TMP USER LOGNAME SHELL TERM PWD OLDPWD SHLVL EDITOR HOSTNAME DISPLAY
        PYTHONPATH NODE_PATH VIRTUAL_ENV CONDA_PREFIX PYTHONHASHSEED PYTHON_KEYRING_BACKEND NODE_OPTIONS JAVA_HOME GOPATH
        KEYBOARD KEYMAP XKB_DEFAULT_LAYOUT KEYTIMEOUT LESSKEY HOTKEY MONKEY_PATCH TURKEY KEYCLOAK_REALM
        TOKENIZERS_PARALLELISM TOKENIZER MAX_TOKENS OPENAI_MAX_TOKENS TOKEN_LIMIT TOKENS_PER_MINUTE MAX_THINKING_TOKENS TOKEN_BUDGET
        CARGO_HOME RUSTUP_HOME CARGO_NET_OFFLINE RUST_LOG RUST_BACKTRACE
        XDG_CACHE_HOME XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_DIRS XDG_SESSION_TYPE XDG_SESSION_COOKIE
        SSL_CERT_FILE SSL_CERT_DIR AWS_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS
        NO_PROXY http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
        GIT_AUTHOR_NAME GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 SSH_CONNECTION GPG_TTY
        PUBLIC_KEY SSH_PUBLIC_KEY OPENAI_BASE_URL OPENAI_ORGANIZATION OPENAI_MODEL GOOGLE_CLOUD_PROJECT OLLAMA_HOST
        OTEL_EXPORTER_OTLP_ENDPOINT OTEL_SERVICE_NAME AUTH_METHOD COMPASS BYPASS PASSENGER_ENV PATTERN PAT HEADERS
        CI GITHUB_ACTIONS GITHUB_REF GITHUB_WORKSPACE EVALUATOR_PYTHON EVALUATOR_CACHE_DIR URL REDIS_HOST DB_HOST
        CUDA_VISIBLE_DEVICES OMP_NUM_THREADS _ 1 é";

    #[test]
    fn names_of_secrets_are_known_and_others_are_not() {
        let wrong: Vec<&str> =
            WITHHELD.split_whitespace().filter(|it| !is_secret_name(it)).collect();
        assert_eq!(wrong, [""; 0], "these are secrets");
        let wrong: Vec<&str> = OPEN.split_whitespace().filter(|it| is_secret_name(it)).collect();
        assert_eq!(wrong, [""; 0], "these are none");
    }

    #[test]
    fn a_url_with_a_login_is_a_secret_whatever_it_is_called() {
        for (value, expected) in [
            ("http://me:pw@proxy:3128", true),
            ("http://me:p%40w@proxy:3128/", true),
            ("redis://:pw@host/0", true),
            ("https://ghp_abc@github.com/x.git", true),
            ("https://a.example/simple https://u:p@b.example/simple", true),
            ("HTTPS://u@h", true),
            ("http://proxy:3128", false),
            ("http://@proxy:3128", false),
            ("http://:@proxy:3128", false),
            ("ssh://git@github.com/x.git", false),
            ("git@github.com:x.git", false),
            ("https://registry.example/@scope/name", false),
            ("https://host?to=me@example.org", false),
            ("://", false),
            ("", false),
        ] {
            assert_eq!(looks_secret("https_proxy", value), expected, "{value}");
        }
    }
}
