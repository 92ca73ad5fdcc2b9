/** Longer hrefs are of no server that means well. */
const HREF_LENGTH_MAX = 4_096

/**
 * The canonical path of an href: resolved, percent-encoded in one way, without a last slash. Two hrefs lead to one
 * resource exactly if their paths are equal. Null if it is no path of this server: it leads to another host, has a
 * login, is too long, or is no URL. Scheme and port are ignored, since servers behind a proxy do not know theirs: a path is always
 * asked for at the origin of `base`.
 */
export function pathOf(href: string, base: URL): string | null {
  if (href.length > HREF_LENGTH_MAX) return null
  const url = URL.parse(href.trim(), base.href)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname !== base.hostname) return null
  if (url.username !== '' || url.password !== '') return null
  return canonicalPath(url.pathname)
}

/** The URL of a canonical path at the origin of `base`; that of a collection ends in a slash. */
export function urlOf(path: string, base: URL, isCollection = false): URL {
  return new URL(isCollection ? `${path}/` : path || '/', base.origin)
}

/** Whether `path` is directly in the collection `parent`; both are canonical. */
export function isMember(path: string, parent: string): boolean {
  return path.startsWith(`${parent}/`) && !path.includes('/', parent.length + 1)
}

/** Whether `path` is the collection `home` or anywhere below it; both are canonical. */
export function isWithin(path: string, home: string): boolean {
  return path === home || path.startsWith(`${home}/`)
}

/** The escapes of characters that RFC 3986 section 3.3 allows in a segment, and that servers write plainly. */
const PLAIN = /%(?:40|3A|24|26|2B|2C|3B|3D)/g

export function canonicalPath(pathname: string): string {
  const path = pathname.split('/').map(canonicalSegment).join('/')
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

/** A segment that is not UTF-8 stays as it is, except for the case of its escapes. */
function canonicalSegment(segment: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(segment)).replaceAll(PLAIN, escape =>
      decodeURIComponent(escape),
    )
  } catch {
    return segment.replaceAll(/%[0-9a-f]{2}/gi, escape => escape.toUpperCase())
  }
}
