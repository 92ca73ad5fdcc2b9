import { ProviderFailure } from '../failure.ts'
import type { CloudRow } from '../microsoft/clouds.ts'

/** Characters that a link may have. Links to delta states are long. */
const LENGTH_MAX = 16 * 1024

/**
 * The path and query of a link that Graph gave, for the host of this cloud. Throws `rejected` for a link to another host,
 * without TLS, or out of the mailbox: a token is never sent there. Graph writes `users/{id}` and `users('{id}')`.
 */
export function pathOfLink(link: string, { graph }: Pick<CloudRow, 'graph'>, mailboxId: string): string {
  const url = parse(link)
  const isHere =
    url?.protocol === 'https:' && url.host === graph && url.username === '' && url.password === ''
  if (!url || !isHere) throw new ProviderFailure('rejected', 'Microsoft Graph gave a link to another host.')
  const [, id] = /^\/v1\.0\/users(?:\/([^/]+)\/|\('([^/]+)'\)\/)/.exec(url.pathname)?.filter(Boolean) ?? []
  if (id === undefined || decoded(id).toLowerCase() !== mailboxId.toLowerCase())
    throw new ProviderFailure('rejected', 'Microsoft Graph gave a link that leads out of the mailbox.')
  return `${url.pathname}${url.search}`
}

/** The host, path and query of an upload session. Throws `rejected` unless its host is one of this cloud. */
export function targetOfUpload(
  link: string,
  { graph, uploads }: Pick<CloudRow, 'graph' | 'uploads'>,
): { host: string; path: string } {
  const url = parse(link)
  const isHere = url?.protocol === 'https:' && url.username === '' && url.password === ''
  if (!url || !isHere || (url.host !== graph && !uploads.includes(url.host)))
    throw new ProviderFailure('rejected', 'Microsoft Graph gave an upload session on another host.')
  return { host: url.host, path: `${url.pathname}${url.search}` }
}

function parse(link: string): URL | null {
  return link.length > LENGTH_MAX ? null : URL.parse(link)
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return ''
  }
}
