/** The address that links in sent messages begin with. */
export interface LinkBase {
  /** Without a slash at the end, such as `https://links.example.com`. */
  url: string
  /** Whether recipients anywhere can be expected to reach it. */
  isPublic: boolean
  isHttps: boolean
  /** Whether it is on this machine, as are the people of a sandbox: they need no https. */
  isPlayed: boolean
  /** The host that serves links and nothing else, as a `Host` header names it; null if the API has the same one. */
  ownHost: string | null
}

/** The settings that decide about links. */
export interface LinkSettings {
  linksUrl: string | null
  baseUrl: string | null
  sandboxUrl: string | null
}

/**
 * Links begin with the links URL, by default with the base URL. A links URL counts as public, whatever its host; a base
 * URL does if it is https and its host is a name that may be known in the world, and with a sandbox if it is on loopback.
 * Null if neither is given.
 */
export function planLinkBase({ linksUrl, baseUrl, sandboxUrl }: LinkSettings): LinkBase | null {
  const url = linksUrl ?? baseUrl
  if (url === null) return null
  const { protocol, host, hostname } = new URL(url)
  const isHttps = protocol === 'https:'
  const isPlayed = sandboxUrl !== null && linksUrl === null && LOOPBACK.test(hostname)
  const ofApi = baseUrl === null ? null : new URL(baseUrl).host
  return {
    url,
    isHttps,
    isPlayed,
    isPublic: linksUrl !== null || isPlayed || isPublicBase(url),
    ownHost: linksUrl === null || host === ofApi ? null : host,
  }
}

/** As `URL` writes these hosts. */
const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/
const IP_ADDRESS = /^(?:\[.*\]|[\d.]+)$/
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal)$/

/** Whether a base URL is https, with a host that may be known in the world. */
export function isPublicBase(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && isPublicName(hostname)
}

function isPublicName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return name.includes('.') && !IP_ADDRESS.test(name) && !PRIVATE_NAME.test(name)
}

/** Whether a `Host` header names this host. The usual ports may be written or left out. */
export function isSameHost(header: string | null, host: string): boolean {
  return (
    header !== null &&
    header
      .toLowerCase()
      .replace(/:(?:80|443)$/, '')
      .replace(/\.(?=:|$)/, '') === host
  )
}
