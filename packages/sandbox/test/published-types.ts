import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import { createGenerator } from 'ts-json-schema-generator'

/** Throws if an answer has a field that its published type does not have, or one of another type. */
export type Validate<Answers> = <Name extends keyof Answers & string>(
  name: Name,
  answer: unknown,
) => asserts answer is Answers[Name]

/**
 * Makes the check of the types that a provider publishes for its client library. The file exports them by name in its
 * interface `Answers`.
 */
export function openValidation<Answers>(file: URL): Validate<Answers> {
  const { definitions = {} } = createGenerator({
    path: fileURLToPath(file),
    tsconfig: fileURLToPath(new URL('../../../tsconfig.json', import.meta.url)),
    type: 'Answers',
    additionalProperties: false,
    skipTypeCheck: true,
  }).createSchema('Answers')
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'published', definitions: withoutStrayRequired(definitions) })
  const compiled = new Map<string, ValidateFunction>()
  return (name, answer) => {
    const validate =
      compiled.get(name) ?? ajv.compile({ $ref: `published#/definitions/Answers/properties/${name}` })
    compiled.set(name, validate)
    if (!validate(answer)) throw new Error(`${name}: ${ajv.errorsText(validate.errors)}`)
  }
}

/** The generator takes `@required` of doc comments for a keyword, whose value is then no list. */
function withoutStrayRequired(definitions: object): object {
  const text = JSON.stringify(definitions, (key, value: unknown) =>
    key === 'required' && !Array.isArray(value) ? undefined : value,
  )
  return JSON.parse(text) as object
}
