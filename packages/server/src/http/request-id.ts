import { newId } from '../kit/ids.ts'

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** Returns the caller's `X-Request-Id` if it is valid, otherwise a new id. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : newId()
}
