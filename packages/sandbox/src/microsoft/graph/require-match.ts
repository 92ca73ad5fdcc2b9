import { GraphRefusal } from './errors.ts'
import type { MethodCall } from './method.ts'

/** Refuses a change that was made for another version of the item than the one of this ETag. */
export function requireMatch({ headers }: Pick<MethodCall, 'headers'>, etag: string): void {
  const given = headers.get('if-match')
  if (given === null || given === '*' || given === etag) return
  throw new GraphRefusal(
    412,
    'ErrorIrresolvableConflict',
    'The send or update operation could not be performed because the change key passed in the request does not match the current change key for the item.',
  )
}
