/**
 * The version that an ETag names: its opaque tag. Weak or strong makes no difference (proxies turn one into the other),
 * nor do quotes, which some servers leave out. Null if there is no ETag.
 */
export function versionOf(etag: string | null | undefined): string | null {
  const tag = (etag ?? '').trim().replace(/^W\//i, '')
  return tag.replace(/^"(.*)"$/s, '$1') || null
}

/** Whether it names exactly one state, byte for byte (RFC 9110 section 8.8.1). */
export function isStrong(etag: string | null | undefined): etag is string {
  return /^"[^"]*"$/.test((etag ?? '').trim())
}

/** The time that a version is, in seconds since 1970, if it looks like one: two changes in a second then share it. */
export function secondsOf(version: string): number | null {
  return /^[12]\d{9}$/.test(version) ? Number(version) : null
}
