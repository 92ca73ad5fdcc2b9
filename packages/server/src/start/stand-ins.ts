import { z } from 'zod'
import type { Logger } from '../kit/log.ts'

const ANSWER_SECONDS = 10
const ANSWER_BYTES_MAX = 65_536
const HOSTS_MAX = 100

const Origin = z.url({ protocol: /^https?$/ }).transform((text, context) => {
  const url = new URL(text)
  if (url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password) return url
  context.addIssue({ code: 'custom', message: 'must be an origin' })
  return z.NEVER
})
const Hosts = z.record(z.hostname(), Origin).refine(hosts => Object.keys(hosts).length <= HOSTS_MAX)

const MailHosts = z.object({ items: z.array(z.hostname()) })

/** A sandbox that the settings name, and that does not list the hosts that it plays. */
export class SandboxUnusable extends Error {
  override name = 'SandboxUnusable'
}

/**
 * Asks the sandbox which hosts of providers it plays, and where. Null without a sandbox: then providers are called
 * themselves. With one, only the hosts that it lists are.
 */
export async function findStandIns(
  sandboxUrl: string | null,
  log: Logger,
): Promise<ReadonlyMap<string, URL> | null> {
  if (sandboxUrl === null) return null
  const hosts = await readHosts(sandboxUrl).catch((error: unknown) => {
    throw new SandboxUnusable(
      `The sandbox of WAXWING_SANDBOX_URL, ${sandboxUrl}, does not list its hosts. Is it running? "npx waxwing-sandbox" starts one.`,
      { cause: error },
    )
  })
  log.warn({ names: Object.keys(hosts) }, 'A sandbox plays the providers: no account here is real')
  return new Map(Object.entries(hosts))
}

async function readHosts(sandboxUrl: string) {
  return Hosts.parse(await ask(sandboxUrl, '/hosts'))
}

/**
 * Asks the sandbox which hosts take the mail of a domain, so that the addresses of its people lead to their provider as
 * real ones do. None without a sandbox, and if it does not answer.
 */
export function findPlayedHosts(sandboxUrl: string | null): (domain: string) => Promise<string[]> {
  if (sandboxUrl === null) return async () => []
  return async domain => {
    const answer = await ask(sandboxUrl, `/mail-hosts/${encodeURIComponent(domain)}`).catch(() => null)
    return MailHosts.safeParse(answer).data?.items ?? []
  }
}

async function ask(sandboxUrl: string, path: string): Promise<unknown> {
  const response = await fetch(sandboxUrl + path, {
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_SECONDS * 1000),
  })
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`)
  return JSON.parse(await readBounded(response, path))
}

async function readBounded(response: Response, path: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`GET ${path} answered more than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
