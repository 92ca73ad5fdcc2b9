/** Writes a place of a listing, or of a sync, as a token. */
export const writeToken = (place: object): string => Buffer.from(JSON.stringify(place)).toString('base64url')

/** Reads what `writeToken` wrote, of which the caller checks a field; null if the token is no such thing. */
export function readToken<Place>(token: string): (Partial<Place> & Place) | null {
  try {
    const place = JSON.parse(Buffer.from(token, 'base64url').toString()) as Place
    return typeof place === 'object' ? place : null
  } catch {
    return null
  }
}
