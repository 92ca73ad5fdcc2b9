import type { Context } from 'hono'
import { InvalidInput } from '../world/invalid-input.ts'

/** The body as JSON; undefined without one. */
export async function readJson(context: Pick<Context, 'req'>): Promise<unknown> {
  const text = await context.req.text()
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidInput('The body is not JSON.')
  }
}
