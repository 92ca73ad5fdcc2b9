import { InvalidInput } from '../world/invalid-input.ts'
import type { ControlContext } from './control-env.ts'

/** The body as JSON; undefined without one. */
export async function readJson(context: Pick<ControlContext, 'req'>): Promise<unknown> {
  const text = await context.req.text()
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidInput('The body is not JSON.')
  }
}
