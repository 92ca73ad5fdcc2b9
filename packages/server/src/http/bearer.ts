const BEARER = /^bearer +([^ ].*)$/i

/** The bearer credential of a request (RFC 6750 section 2.1), or null. */
export function bearerOf(headers: Headers): string | null {
  return BEARER.exec(headers.get('authorization') ?? '')?.[1] ?? null
}
