//! Sending events to collectors that are there, busy, picky, or not collectors at all.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use evaluator_host::events::{AttributeValue, EventRecord, ExportError, Exporter};
use http::{HeaderMap, HeaderValue, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig, ServerConnection, StreamOwned,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

fn export(count: usize, variables: &[(&str, &str)]) -> Result<(), ExportError> {
    let record = EventRecord {
        name: "gen_ai.evaluation.result",
        trace_id: "ab".repeat(16),
        span_id: "cd".repeat(8),
        attributes: vec![("gen_ai.evaluation.name", AttributeValue::Text("polite".to_owned()))],
    };
    let exporter = Exporter::new(&|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    });
    exporter.unwrap().export(vec![record; count].into_iter().map(Ok))
}

/// The head of a request, in lower case, and its body.
type Request = (String, Vec<u8>);

fn read_request(stream: &mut impl Read) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (head, body)
}

/// Gives one answer after the other, whole as it is written on the wire, and the requests it got.
fn server(
    answers: &'static [&'static str],
    wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + 'static,
) -> (u16, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let mut stream = wrap(listener.accept().unwrap().0);
            sender.send(read_request(&mut stream)).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            stream.flush().unwrap();
        }
    });
    (port, receiver)
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn plain(stream: TcpStream) -> Box<dyn Stream> {
    Box::new(stream)
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";

#[test]
fn many_records_go_out_in_several_requests() {
    let (port, requests) = server(&[OK, OK, OK], plain);
    let url = format!("http://127.0.0.1:{port}/otlp/");
    export(5, &[(ENDPOINT, &url), ("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "2")]).unwrap();
    let sizes: Vec<usize> = requests.iter().map(|(_, body)| body.len()).collect();
    assert!(sizes[0] == sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
}

#[test]
fn headers_compression_and_json_are_sent_as_set() {
    let (port, requests) = server(&[OK], plain);
    let url = format!("http://127.0.0.1:{port}/here");
    export(
        1,
        &[
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", &url),
            (PROTOCOL, "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "X-Token=s%3Decret"),
        ],
    )
    .unwrap();
    let (head, body) = requests.recv().unwrap();
    assert!(head.starts_with("post /here http/1.1\r\n"), "{head}");
    for header in ["content-type: application/json", "content-encoding: gzip", "x-token: s=ecret"] {
        assert!(head.contains(&format!("{header}\r\n")), "{head}");
    }
    let json: serde_json::Value =
        serde_json::from_reader(flate2::read::GzDecoder::new(&*body)).unwrap();
    let record = &json["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    assert_eq!(record["traceId"], "ab".repeat(16));
    assert_eq!(record["attributes"][0]["value"]["stringValue"], "polite");
}

#[test]
fn a_busy_collector_is_asked_again_and_others_are_not() {
    const BUSY: &str =
        "HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const LATER: &str =
        "HTTP/1.1 429 Busy\r\nretry-after: 9999\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (port, requests) = server(&[BUSY, BUSY, OK], plain);
    export(1, &[(ENDPOINT, &format!("http://127.0.0.1:{port}"))]).unwrap();
    let bodies: Vec<_> = requests.iter().map(|(_, body)| body).collect();
    assert!(bodies.len() == 3 && bodies[0] == bodies[1] && bodies[1] == bodies[2]);

    let (port, _requests) = server(&[OK, LATER], plain);
    let url = format!("http://127.0.0.1:{port}");
    let error =
        export(5, &[(ENDPOINT, &url), ("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "2")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "3 evaluation events were not sent to {url}/v1/logs: HTTP status 429 Too Many Requests"
        )
    );
}

#[test]
fn what_a_collector_refuses_is_reported() {
    const PARTLY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 70\r\nconnection: close\r\n\r\n\
        {\"partialSuccess\":{\"rejectedLogRecords\":\"1\",\"errorMessage\":\"too old\"}}";
    let (port, _requests) = server(&[PARTLY], plain);
    let url = format!("http://127.0.0.1:{port}");
    let error = export(2, &[(ENDPOINT, &url), (PROTOCOL, "http/json")]).unwrap_err();
    assert_eq!((error.missing, error.reason.as_str()), (1, "the collector refused them: too old"));
}

/// Settings of a server that shows the certificate in `tests/data/tls` and, if `mutual`, wants to see one.
fn tls(alpn: &[&str], mutual: bool) -> Arc<ServerConfig> {
    let certificates = CertificateDer::pem_file_iter(pem("server.pem")).unwrap();
    let chain = certificates.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pem("authority.pem")).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if mutual {
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

fn pem(name: &str) -> String {
    format!("{}/tests/data/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn https_trusts_the_given_authority_and_shows_a_certificate() {
    let wrap = |stream| -> Box<dyn Stream> {
        let connection = ServerConnection::new(tls(&[], true)).unwrap();
        Box::new(StreamOwned::new(connection, stream))
    };
    let (port, requests) = server(&[OK], wrap);
    let url = format!("https://localhost:{port}");
    export(
        1,
        &[
            (ENDPOINT, &url),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", &pem("authority.pem")),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &pem("server.pem")),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &pem("server.key")),
        ],
    )
    .unwrap();
    assert_eq!(requests.iter().count(), 1);
}

/// What a gRPC server is asked: path, headers, frame.
type Call = (String, HeaderMap, Vec<u8>);

/// A gRPC server that answers one call after the other with these statuses, over TLS if it has settings.
fn grpc_server(
    statuses: &'static [&'static str],
    security: Option<Arc<ServerConfig>>,
) -> (u16, Arc<Mutex<Vec<Call>>>) {
    let calls = Arc::default();
    let seen = Arc::clone(&calls);
    let (sender, port) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().port()).unwrap();
            for status in statuses {
                let stream = listener.accept().await.unwrap().0;
                match &security {
                    // A client that does not trust the certificate closes the connection.
                    Some(tls) => match TlsAcceptor::from(Arc::clone(tls)).accept(stream).await {
                        Ok(stream) => answer(stream, status, &seen).await,
                        Err(_) => continue,
                    },
                    None => answer(stream, status, &seen).await,
                }
            }
        });
    });
    (port.recv().unwrap(), calls)
}

async fn answer<S>(stream: S, status: &'static str, seen: &Arc<Mutex<Vec<Call>>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut connection = h2::server::handshake(stream).await.unwrap();
    // The body of a request only comes while the connection is asked for the next one.
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let seen = Arc::clone(seen);
        tokio::spawn(async move {
            let (head, mut body) = request.into_parts();
            let mut bytes = Vec::new();
            while let Some(chunk) = body.data().await {
                bytes.extend_from_slice(&chunk.unwrap());
            }
            seen.lock().unwrap().push((head.uri.path().to_owned(), head.headers, bytes));
            let (code, message) = status.split_once(' ').unwrap_or((status, ""));
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from_str(code).unwrap());
            trailers.insert("grpc-message", HeaderValue::from_str(message).unwrap());
            let mut answer = Response::new(());
            if code == "0" {
                let mut stream = respond.send_response(answer, false).unwrap();
                stream.send_data(vec![0; 5].into(), false).unwrap();
                stream.send_trailers(trailers).unwrap();
            } else {
                // What fails has no message, and its status in the head.
                *answer.headers_mut() = trailers;
                respond.send_response(answer, true).unwrap();
            }
        });
    }
}

#[test]
fn grpc_is_spoken_where_it_is_asked_for() {
    let (port, calls) = grpc_server(&["0"], None);
    let url = format!("http://127.0.0.1:{port}");
    export(1, &[(ENDPOINT, &url), (PROTOCOL, "grpc"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")])
        .unwrap();
    let (path, headers, frame) = calls.lock().unwrap().remove(0);
    assert_eq!(path, "/opentelemetry.proto.collector.logs.v1.LogsService/Export");
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers"), ("a", "b")] {
        assert_eq!(headers.get(name).unwrap(), value);
    }
    assert_eq!(frame[0], 0);
    assert_eq!(frame[1..5], u32::try_from(frame.len() - 5).unwrap().to_be_bytes());
    assert!(String::from_utf8_lossy(&frame).contains("polite"));
}

#[test]
fn grpc_statuses_decide() {
    let (port, calls) = grpc_server(&["14 busy", "0"], None);
    let gzip = ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
    let url = format!("http://127.0.0.1:{port}");
    export(1, &[(ENDPOINT, &url), (PROTOCOL, "grpc"), gzip]).unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(
        (calls[1].1.get("grpc-encoding").unwrap(), calls[1].2[0]),
        (&"gzip".parse().unwrap(), 1)
    );

    let (port, _calls) = grpc_server(&["16 who are you?"], None);
    let url = format!("http://127.0.0.1:{port}");
    let error = export(3, &[(ENDPOINT, &url), (PROTOCOL, "grpc")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("3 evaluation events were not sent to {url}: gRPC status 16: who are you?")
    );
}

#[test]
fn grpc_over_tls_trusts_the_given_authority_only() {
    let (port, calls) = grpc_server(&["0", "0"], Some(tls(&["h2"], false)));
    let endpoint = format!("localhost:{port}");
    let base = [(ENDPOINT, &*endpoint), (PROTOCOL, "grpc")];
    let error = export(1, &base).unwrap_err();
    assert!(error.reason.contains("UnknownIssuer"), "{error}");
    let authority = pem("authority.pem");
    export(1, &[&base[..], &[("OTEL_EXPORTER_OTLP_CERTIFICATE", &authority)]].concat()).unwrap();
    assert_eq!(calls.lock().unwrap().len(), 1);
}

#[test]
fn grpc_over_tls_shows_a_certificate() {
    let (port, calls) = grpc_server(&["0"; 9], Some(tls(&["h2"], true)));
    let endpoint = format!("https://localhost:{port}");
    let authority = pem("authority.pem");
    let base = [
        (ENDPOINT, &*endpoint),
        (PROTOCOL, "grpc"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", &authority),
    ];
    export(1, &base).unwrap_err();
    let (certificate, key) = (pem("server.pem"), pem("server.key"));
    let identity = [
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &*certificate),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &key),
    ];
    export(1, &[&base[..], &identity].concat()).unwrap();
    assert_eq!(calls.lock().unwrap().len(), 1);
}

#[test]
fn a_server_of_something_else_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = export(1, &[(ENDPOINT, &url), (PROTOCOL, "grpc")]).unwrap_err();
    assert_eq!((error.missing, error.endpoint), (1, url));
    // The text of tonic for any failed connection says nothing.
    assert!(!error.reason.contains("transport error"), "{}", error.reason);
}
