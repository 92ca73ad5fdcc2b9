import type { z } from 'zod'

/** Input of the control API, or a seed, that is wrong. The message names the fields. */
export class InvalidInput extends Error {
  override name = 'InvalidInput'
}

/** Returns the value as the schema reads it. Throws `InvalidInput` otherwise. */
export function parseInput<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
  throw new InvalidInput(problems.join('; '))
}
