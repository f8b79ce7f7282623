//! What happened: the conversations of a travel desk's agent with its users.
//!
//! Keys of JSON objects stand in alphabetical order here, the order in which they are written.

use serde_json::{Value, json};

/// Instructions of the agent in every conversation.
pub(crate) const INSTRUCTIONS: &str = "You are the travel desk of a company. Today is Monday, 2 March 2026. Look things up with \
     your tools, book only what was asked for, and answer in plain sentences.";

/// Name of the agent.
pub(crate) const AGENT: &str = "travel_desk";

/// A conversation; every turn is a trace of its own.
pub(crate) struct Conversation {
    pub(crate) id: &'static str,
    /// The model behind the agent.
    pub(crate) model: &'static str,
    /// The system that served the model.
    pub(crate) provider: &'static str,
    /// Seconds since 1970.
    pub(crate) started: u64,
    pub(crate) turns: Vec<Turn>,
}

/// What the user said and what the agent did about it.
pub(crate) struct Turn {
    pub(crate) user: &'static str,
    /// Tools called one after the other, with a model call before each.
    pub(crate) calls: Vec<Call>,
    /// `None`: the model failed before it answered.
    pub(crate) answer: Option<&'static str>,
}

/// A tool call.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
    /// What went wrong, if something did.
    pub(crate) error: Option<&'static str>,
}

fn turn<const N: usize>(
    user: &'static str,
    calls: [Call; N],
    answer: impl Into<Option<&'static str>>,
) -> Turn {
    Turn { user, calls: calls.into(), answer: answer.into() }
}

fn call(tool: &'static str, arguments: Value, result: Value) -> Call {
    Call { tool, arguments, result, error: None }
}

/// 2 March 2026, 09:00 UTC.
const MONDAY: u64 = 1_772_442_000;

/// Three turns: ask, book, one more question.
pub(crate) fn booking() -> Conversation {
    Conversation {
        id: "desk-7f31",
        model: "gpt-5-mini",
        provider: "openai",
        started: MONDAY,
        turns: vec![
            turn(
                "I have to be in Hamburg by noon this Friday, coming from Utrecht. What are my options?",
                [call(
                    "search_trains",
                    json!({"arrive_by": "12:00", "date": "2026-03-06", "from": "Utrecht", "to": "Hamburg"}),
                    json!({"trains": [
                        {"arrives": "10:55", "departs": "06:02", "price_eur": 64, "train": "IC 141"},
                        {"arrives": "11:41", "departs": "06:38", "price_eur": 79, "train": "ICE 225"},
                    ]}),
                )],
                "Two trains get you there in time. IC 141 leaves Utrecht at 06:02 and arrives at 10:55, for 64 euros. \
                 ICE 225 leaves at 06:38 and arrives at 11:41, for 79 euros. Which one shall I book?",
            ),
            turn(
                "The later one, and a window seat please.",
                [
                    call(
                        "book_seat",
                        json!({"date": "2026-03-06", "seat": "window", "train": "ICE 225"}),
                        json!({"booking": "TD-4821", "coach": 7, "seat": 61}),
                    ),
                    call(
                        "send_ticket",
                        json!({"booking": "TD-4821", "channel": "email"}),
                        json!({"sent": true}),
                    ),
                ],
                "Booked: ICE 225 on Friday, coach 7, window seat 61. Your booking is TD-4821 and the ticket is in your mailbox.",
            ),
            turn("Great. Do I have to print it?", [], "No, your phone is enough."),
        ],
    }
}

/// Two turns: change a booking, ask who pays.
pub(crate) fn change() -> Conversation {
    Conversation {
        id: "desk-80c2",
        model: "gemini-2.5-flash",
        provider: "gcp.vertex.agent",
        started: MONDAY + 5_400,
        turns: vec![
            turn(
                "My meeting moved. Please put booking TD-4821 on the same train one day earlier.",
                [
                    call(
                        "get_booking",
                        json!({"booking": "TD-4821"}),
                        json!({"booking": "TD-4821", "date": "2026-03-06", "price_eur": 79, "train": "ICE 225"}),
                    ),
                    call(
                        "change_booking",
                        json!({"booking": "TD-4821", "date": "2026-03-05"}),
                        json!({"booking": "TD-4821", "coach": 9, "date": "2026-03-05", "fee_eur": 15, "seat": 22}),
                    ),
                ],
                "Done. You are on ICE 225 on Thursday now, coach 9, seat 22. The change costs 15 euros, so 94 euros in all.",
            ),
            turn(
                "Do I pay the fee myself?",
                [call(
                    "search_policy",
                    json!({"query": "who pays change fees"}),
                    json!({"text": "The company pays change fees of up to 25 euros."}),
                )],
                "No, the company pays it: fees of up to 25 euros are covered.",
            ),
        ],
    }
}

/// One turn whose answer a program will read.
pub(crate) fn expenses() -> Conversation {
    Conversation {
        id: "desk-81e9",
        model: "mistral-small-2506",
        provider: "mistral_ai",
        started: MONDAY + 9_000,
        turns: vec![turn(
            "Give me booking TD-4821 as JSON for the expense tool: reference, amount, currency.",
            [call(
                "get_booking",
                json!({"booking": "TD-4821"}),
                json!({"booking": "TD-4821", "fee_eur": 15, "price_eur": 79, "total_eur": 94}),
            )],
            r#"{"reference": "TD-4821", "amount": 94, "currency": "EUR"}"#,
        )],
    }
}

/// The same requests, put to the agent again with a smaller model behind it: everything that can go wrong.
pub(crate) fn regression() -> [Conversation; 3] {
    let replayed = MONDAY + 28_800;
    let model = "tiny-1b-instruct";
    let provider = "ollama";
    let booking = vec![
        turn(
            booking().turns[0].user,
            [call(
                "search_trains",
                // One day late, and the deadline is forgotten.
                json!({"date": "2026-03-07", "from": "Utrecht", "to": "Hamburg"}),
                json!({"trains": [{"arrives": "13:20", "departs": "08:11", "price_eur": 58, "train": "IC 147"}]}),
            )],
            "IC 147 leaves Utrecht at 08:11 and arrives at 11:20, for 58 euros. Shall I book it?",
        ),
        turn(
            booking().turns[1].user,
            [Call {
                tool: "book_seat",
                arguments: json!({"train": "IC 147"}),
                result: json!({"error": "date is required"}),
                error: Some("invalid_argument"),
            }],
            "Booked! Your booking is TD-5000.",
        ),
        turn(booking().turns[2].user, [], None),
    ];
    let change = vec![
        turn(
            change().turns[0].user,
            [
                change_lookup(),
                change_lookup(),
                change_lookup(),
                call(
                    "change_booking",
                    json!({"booking": "TD-4821", "date": "2026-03-07"}),
                    json!({"booking": "TD-4821", "coach": 3, "date": "2026-03-07", "fee_eur": 15, "seat": 40}),
                ),
            ],
            "Done. You are on ICE 225 on Thursday now.",
        ),
        turn(change().turns[1].user, [], "Ask your manager."),
    ];
    let expenses = vec![turn(
        expenses().turns[0].user,
        [change_lookup()],
        "Sure! Here it is:\n{\"reference\": \"TD-4821\", \"amount\": \"79 euros\"}",
    )];
    [
        Conversation { id: "desk-9a04", model, provider, started: replayed, turns: booking },
        Conversation { id: "desk-9a17", model, provider, started: replayed + 900, turns: change },
        Conversation {
            id: "desk-9a2d",
            model,
            provider,
            started: replayed + 1_800,
            turns: expenses,
        },
    ]
}

fn change_lookup() -> Call {
    call(
        "get_booking",
        json!({"booking": "TD-4821"}),
        json!({"booking": "TD-4821", "date": "2026-03-06", "price_eur": 79, "train": "ICE 225"}),
    )
}
