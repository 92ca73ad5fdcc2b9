import { Resolver as DnsClient } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { parseHost } from './host.ts'
import type { Resolver } from './guard.ts'

/** The first try of each name server; the second waits twice as long. */
const TRY_MILLISECONDS = 1_500
const TRIES = 2
const HOSTS_FILE = '/etc/hosts'

/**
 * Resolves names that tenants choose: by `/etc/hosts`, then by the name servers of this machine. `getaddrinfo` holds one
 * of the few threads of the process until a name server has answered, so a few servers that never answer would stop
 * every other lookup. This holds a timer and a datagram socket.
 */
export function nameServerResolver(
  options: { servers?: readonly string[]; hostsFile?: string } = {},
): Resolver {
  const { servers, hostsFile = HOSTS_FILE } = options
  return async name => {
    const listed = await findInHostsFile(hostsFile, name)
    if (listed.length > 0) return listed
    // A client of its own for each lookup: it reads the configuration as it is now, and keeps no answers.
    const client = new DnsClient({ timeout: TRY_MILLISECONDS, tries: TRIES })
    if (servers) client.setServers(servers)
    // IPv4 first: many machines have no route for IPv6.
    const answers = await Promise.allSettled([client.resolve4(name), client.resolve6(name)])
    const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const failures = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason as Error] : []))
    // A name without an IPv6 address may still exist if its IPv4 address could not be asked for.
    throw failures.find(failure => !isAnswer(failure)) ?? failures[0]
  }
}

function isAnswer(failure: Error): boolean {
  return 'code' in failure && (failure.code === 'ENOTFOUND' || failure.code === 'ENODATA')
}

async function findInHostsFile(path: string, name: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.split('\n').flatMap(line => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return names.some(each => parseHost(each)?.name === name) ? [address] : []
  })
}
