import type { FoundServers } from '../../../providers/discovery.ts'
import type { RequestContext } from '../../context.ts'
import { refuse } from '../../refuse.ts'

/** Searches for the servers of an address. Refuses `autodiscovery_failed` if there are none. */
export async function requireServers(context: RequestContext, email: string): Promise<FoundServers> {
  return (await context.services.serverSearch.find(email)) ?? refuse('autodiscovery_failed')
}
