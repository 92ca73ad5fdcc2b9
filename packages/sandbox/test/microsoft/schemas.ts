import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import { createGenerator } from 'ts-json-schema-generator'
import type { Answers } from './answers.ts'

/** Throws if an answer has a field that Microsoft's published type does not have, or one of another type. */
export type Validate = <Name extends keyof Answers>(
  name: Name,
  answer: unknown,
) => asserts answer is Answers[Name]

/** Makes the check of the types that Microsoft publishes for its client library. */
export function openValidation(): Validate {
  const { definitions = {} } = createGenerator({
    path: fileURLToPath(new URL('./answers.ts', import.meta.url)),
    tsconfig: fileURLToPath(new URL('../../../../tsconfig.json', import.meta.url)),
    type: 'Answers',
    additionalProperties: false,
    skipTypeCheck: true,
  }).createSchema('Answers')
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'graph', definitions })
  const compiled = new Map<string, ValidateFunction>()
  return (name, answer) => {
    const validate =
      compiled.get(name) ?? ajv.compile({ $ref: `graph#/definitions/Answers/properties/${name}` })
    compiled.set(name, validate)
    if (!validate(withoutAnnotations(answer))) throw new Error(`${name}: ${ajv.errorsText(validate.errors)}`)
  }
}

/** The types have no annotations of OData. */
function withoutAnnotations(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer, (key, value: unknown) => (key.startsWith('@') ? undefined : value)),
  )
}
