/** The address that links in sent messages begin with. */
export interface LinkBase {
  /** Without a slash at the end, such as `https://links.example.com`. */
  url: string
  /** Whether recipients anywhere can be expected to reach it. */
  isPublic: boolean
  isHttps: boolean
  /** The host that serves links and nothing else, as a `Host` header names it; null if the API has the same one. */
  ownHost: string | null
}

/**
 * Links begin with the links URL, by default with the base URL. A links URL counts as public, whatever its host; a base
 * URL does if it is https and its host is a name that may be known in the world. Null if neither is given.
 */
export function planLinkBase(given: { linksUrl: string | null; baseUrl: string | null }): LinkBase | null {
  const { linksUrl, baseUrl } = given
  const url = linksUrl ?? baseUrl
  if (url === null) return null
  const { protocol, host } = new URL(url)
  const isHttps = protocol === 'https:'
  const ofApi = baseUrl === null ? null : new URL(baseUrl).host
  return {
    url,
    isHttps,
    isPublic: linksUrl !== null || isPublicBase(url),
    ownHost: linksUrl === null || host === ofApi ? null : host,
  }
}

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
