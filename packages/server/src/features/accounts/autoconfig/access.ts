import type { FoundServers, ServerSearch } from '../../../providers/discovery.ts'
import { refuse } from '../../refuse.ts'

/** The servers of an address, searched for. Refuses `autodiscovery_failed` where there are none. */
export async function requireServers(search: ServerSearch, email: string): Promise<FoundServers> {
  return (await search.find(email)) ?? refuse('autodiscovery_failed')
}
