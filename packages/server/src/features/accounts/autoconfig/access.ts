import type { FoundServers, ServerSearch } from '../../../providers/discovery.ts'
import { refuse } from '../../../calls/refuse.ts'

/** Searches for the servers of an address. Refuses `autodiscovery_failed` if there are none. */
export async function requireServers(search: ServerSearch, email: string): Promise<FoundServers> {
  return (await search.find(email)) ?? refuse('autodiscovery_failed')
}
