/** Preferences of a request (RFC 7240) that Graph knows. */
export interface Preferences {
  /** Whether answers have immutable ids. */
  readonly immutableIds: boolean
  readonly pageSize: number | null
  readonly bodyType: 'text' | 'html' | null
  /** The zone in which times of events are shown, by a Windows or an IANA name. */
  readonly timeZone: string | null
}

/** Reads the `Prefer` headers of a request. Names and values are compared without regard to case. */
export function preferencesOf(headers: Headers): Preferences {
  const given = new Map<string, string>()
  for (const item of (headers.get('prefer') ?? '').match(/(?:"[^"]*"|[^",;])+/g) ?? []) {
    const equals = item.indexOf('=')
    const name = (equals < 0 ? item : item.slice(0, equals)).trim().toLowerCase()
    const value = equals < 0 ? '' : item.slice(equals + 1).trim()
    if (!given.has(name)) given.set(name, value.replaceAll('"', ''))
  }
  const size = Number(given.get('odata.maxpagesize'))
  const bodyType = given.get('outlook.body-content-type')?.toLowerCase()
  return {
    immutableIds: given.get('idtype')?.toLowerCase() === 'immutableid',
    pageSize: Number.isSafeInteger(size) && size > 0 ? size : null,
    bodyType: bodyType === 'text' || bodyType === 'html' ? bodyType : null,
    timeZone: given.get('outlook.timezone') ?? null,
  }
}

/** The header that names the preferences which an answer follows. */
export function preferencesApplied({
  immutableIds,
  pageSize,
  bodyType,
  timeZone,
}: Preferences): Record<string, string> {
  const applied = [
    ...(immutableIds ? ['IdType="ImmutableId"'] : []),
    ...(pageSize === null ? [] : [`odata.maxpagesize=${pageSize}`]),
    ...(bodyType === null ? [] : [`outlook.body-content-type="${bodyType}"`]),
    ...(timeZone === null ? [] : [`outlook.timezone="${timeZone}"`]),
  ]
  return applied.length > 0 ? { 'preference-applied': applied.join(', ') } : {}
}
