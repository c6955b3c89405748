//! The status page: what is in the server, readable in a browser.

use std::fmt::Write;

use axum::extract::State;
use axum::response::Html;

use super::http::Shared;
use super::json::state_name;

/// Messages shown per subscription, and subscriptions for which they are shown.
const MESSAGES: usize = 10;
const SUBSCRIPTIONS: usize = 50;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}\
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.8em}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.25em .7em;border-bottom:1px solid #ddd;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{word-break:break-all}.dim{color:#777}\
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}th,td{border-color:#444}}";

/// Renders the page; the browser loads it anew every two seconds.
pub(super) async fn page(State(shared): State<Shared>) -> Html<String> {
    let control = &shared.control;
    let mut html = String::new();
    // Writing into a string does not fail.
    let _ = render(&mut html, &shared, control);
    Html(html)
}

fn render(html: &mut String, shared: &Shared, control: &super::Control) -> std::fmt::Result {
    let address = shared.address;
    write!(
        html,
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=2>\
         <meta name=viewport content=\"width=device-width\"><title>Pub/Sub emulator</title><style>{STYLE}</style>\
         <h1>Pub/Sub emulator on <code>{address}</code></h1>\
         <p>{} connections · server time {}{} · {} fault rules</p>\
         <p class=dim>Clients of Google use it with <code>PUBSUB_EMULATOR_HOST={address}</code>.</p>",
        control.connections(),
        control.clock().now().to_proto(),
        if control.clock().is_stopped() {
            " (stopped)"
        } else {
            ""
        },
        control.faults().list().len(),
    )?;
    html.push_str(
        "<h2>Topics</h2><table><tr><th>Topic<th class=n>Subscriptions<th class=n>Published<th class=n>Retained",
    );
    for topic in control.topics() {
        write!(
            html,
            "<tr><td><code>{}</code><td class=n>{}<td class=n>{}<td class=n>{}",
            Escaped(&topic.name),
            topic.subscriptions,
            topic.published,
            topic.retained
        )?;
    }
    html.push_str(
        "</table><h2>Subscriptions</h2><table><tr><th>Subscription<th>Topic<th class=n>Backlog\
         <th class=n>Outstanding<th class=n>Acked<th class=n>Nacked<th class=n>Expired<th class=n>Streams",
    );
    let subscriptions = control.subscriptions();
    for s in &subscriptions {
        write!(
            html,
            "<tr><td><code>{}</code><td><code>{}</code><td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}\
             <td class=n>{}<td class=n>{}",
            Escaped(&s.name),
            Escaped(&s.topic),
            s.counts.backlog,
            s.counts.outstanding,
            s.counts.acked,
            s.counts.nacked,
            s.counts.expired,
            s.streams.len()
        )?;
    }
    html.push_str("</table>");
    for subscription in subscriptions.iter().take(SUBSCRIPTIONS) {
        // Listing a long backlog would hold up the server.
        if subscription.counts.backlog + subscription.counts.outstanding > 10_000 {
            continue;
        }
        messages(html, control, &subscription.name)?;
    }
    Ok(())
}

fn messages(html: &mut String, control: &super::Control, subscription: &str) -> std::fmt::Result {
    let Ok(views) = control.messages(subscription) else {
        return Ok(());
    };
    let recent: Vec<_> = views
        .iter()
        .rev()
        .filter(|v| v.content.is_some())
        .take(MESSAGES)
        .collect();
    if recent.is_empty() {
        return Ok(());
    }
    write!(
        html,
        "<h2>Recent messages of <code>{}</code></h2><table><tr><th>Id<th>State<th class=n>Deliveries\
         <th>Published<th>Key<th>Attributes<th>Data",
        Escaped(subscription)
    )?;
    for view in recent {
        let Some(content) = &view.content else {
            continue;
        };
        let message = content.decode();
        let state = state_name(view.state);
        let data = String::from_utf8_lossy(&message.data[..message.data.len().min(200)]);
        let mut attributes: Vec<_> = message
            .attributes
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        attributes.sort_unstable();
        write!(
            html,
            "<tr><td>{}<td>{state}<td class=n>{}<td>{}<td>{}<td>{}<td><code>{}</code>",
            view.message,
            view.attempts,
            content.publish_time.to_proto(),
            Escaped(&message.ordering_key),
            Escaped(&attributes.join(", ")),
            Escaped(&data)
        )?;
    }
    html.push_str("</table>");
    Ok(())
}

/// Text that cannot be taken for markup.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_messages_is_shown_as_text() {
        assert_eq!(
            Escaped("<a href='x'>&\"").to_string(),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
        );
    }
}
