use super::*;

/// Collects the places of tables whose keys are unknown.
fn collect_open(place: &str, schema: &Value, found: &mut Vec<String>) {
    if schema["additionalProperties"] == true && schema["properties"].is_null() {
        found.push(place.to_owned());
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect_open(&format!("{place}.{name}"), property, found);
    }
    for name in ["anyOf", "oneOf"] {
        for one in schema[name].as_array().into_iter().flatten() {
            collect_open(place, one, found);
        }
    }
    for (kind, table) in schema[KINDS].as_object().into_iter().flatten() {
        collect_open(&format!("{place}({kind})"), table, found);
    }
    if schema["additionalProperties"].is_object() {
        collect_open(&format!("{place}.*"), &schema["additionalProperties"], found);
    }
}

#[test]
fn config_schema_leaves_no_table_of_a_component_open() {
    let mut found = Vec::new();
    collect_open("", &config_schema(), &mut found);
    // The JSON that a server of models gets is free.
    assert_eq!(found, [".providers.*(openai).extra_body"], "add its table to COMPONENT_TABLES");
}
