"""Reads each answer of a file with the model that its schema has in a module that quicktype made. Prints what fails."""
import importlib.util
import json
import sys

models_file, answers_file = sys.argv[1:]
spec = importlib.util.spec_from_file_location("models", models_file)
models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(models)
readers = {
    name.removesuffix("_from_dict").replace("_", "").lower(): getattr(models, name)
    for name in dir(models)
    if name.endswith("_from_dict")
}

failed = []
with open(answers_file, encoding="utf-8") as file:
    answers = json.load(file)
for answer in answers:
    try:
        readers[answer["schema"].lower()](answer["body"])
    except Exception as error:
        failed.append(f"{answer['operation']} ({answer['schema']}): {type(error).__name__} {error}")
print(json.dumps({"read": len(answers), "failed": failed}))
