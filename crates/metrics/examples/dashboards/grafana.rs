//! A dashboard as Grafana's JSON.

use crate::panels::{Dashboard, Panel, Variable};
use serde_json::{Value, json};

/// Of Grafana's grid.
const WIDTH: usize = 24;
const HEIGHT: usize = 8;
/// Panels side by side.
const COLUMNS: usize = 2;

/// The file's text; all dashboards link to one another.
pub fn dashboard(of: &Dashboard, all: &[Dashboard]) -> String {
    let mut panels = Vec::new();
    let mut top = 0;
    for row in of.rows {
        let id = panels.len() + 1;
        panels.push(json!({
            "id": id, "type": "row", "title": row.title, "collapsed": false, "panels": [],
            "gridPos": { "x": 0, "y": top, "w": WIDTH, "h": 1 },
        }));
        top += 1;
        for (at, panel) in row.panels.iter().enumerate() {
            let x = (at % COLUMNS) * (WIDTH / COLUMNS);
            let y = top + (at / COLUMNS) * HEIGHT;
            panels.push(self::panel(panel, panels.len() + 1, (x, y)));
        }
        top += row.panels.len().div_ceil(COLUMNS) * HEIGHT;
    }
    let variables = of.variables.iter().map(variable);
    // The others take one service: several, or all, would be a value that they do not have.
    let one = of
        .variables
        .iter()
        .all(|variable| variable.name != "job" || !variable.several);
    let others = all.iter().filter(|other| other.name != of.name);
    let links: Vec<Value> = others
        .map(|other| {
            json!({
                "title": other.title, "type": "link", "icon": "dashboard", "url": format!("/d/{}", other.uid()),
                "keepTime": true, "includeVars": one, "targetBlank": false, "asDropdown": false, "tags": [], "tooltip": "",
            })
        })
        .collect();
    let document = json!({
        "uid": of.uid(),
        "title": of.title,
        "description": of.about,
        "tags": ["powerband"],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "timezone": "",
        "refresh": "30s",
        "time": { "from": "now-3h", "to": "now" },
        "annotations": { "list": [] },
        "links": links,
        "templating": { "list": std::iter::once(source()).chain(variables).collect::<Vec<_>>() },
        "panels": panels,
    });
    format!("{document:#}\n")
}

fn source() -> Value {
    json!({
        "name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0, "multi": false,
        "includeAll": false, "regex": "", "refresh": 1, "current": {},
    })
}

fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn variable(of: &Variable) -> Value {
    let query = format!("label_values({}, {})", of.series, of.name);
    json!({
        "name": of.name, "label": of.label, "type": "query", "datasource": datasource(), "definition": query,
        "query": { "query": query, "refId": of.name }, "refresh": 2, "sort": 1, "multi": of.several, "includeAll": of.several,
        "allValue": if of.several { json!(".*") } else { Value::Null }, "hide": 0, "regex": "", "current": {},
    })
}

fn panel(of: &Panel, id: usize, (x, y): (usize, usize)) -> Value {
    let targets: Vec<Value> = of
        .queries
        .iter()
        .zip('A'..)
        .map(|((expr, legend), name)| {
            json!({
                "refId": name.to_string(), "datasource": datasource(), "expr": expr, "legendFormat": legend, "range": true,
                "editorMode": "code",
            })
        })
        .collect();
    let stacking = if of.stacked { "normal" } else { "none" };
    json!({
        "id": id,
        "type": "timeseries",
        "title": of.title,
        "description": of.about,
        "datasource": datasource(),
        "gridPos": { "x": x, "y": y, "w": WIDTH / COLUMNS, "h": HEIGHT },
        "targets": targets,
        "fieldConfig": {
            "defaults": {
                "unit": of.unit, "min": 0,
                "custom": {
                    "drawStyle": "line", "lineWidth": 1, "fillOpacity": if of.stacked { 30 } else { 0 }, "showPoints": "never",
                    "stacking": { "mode": stacking, "group": "A" },
                },
            },
            "overrides": [],
        },
        "options": {
            "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
            "tooltip": { "mode": "multi", "sort": "desc" },
        },
    })
}
