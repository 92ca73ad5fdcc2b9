import { openValidation, type Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'

/** Makes the check of the types that Microsoft publishes for its client library. */
export function openGraphValidation(): Validate<Answers> {
  const validate = openValidation<Answers>(new URL('./answers.ts', import.meta.url))
  return (name, answer) => validate(name, withoutAnnotations(answer))
}

/** The types have no annotations of OData. */
function withoutAnnotations(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer, (key, value: unknown) => (key.startsWith('@') ? undefined : value)),
  )
}
