import { newId } from '../kit/ids.ts'

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** The caller's own `X-Request-Id` where it fits, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && REQUEST_ID.test(given) ? given : newId()
}
