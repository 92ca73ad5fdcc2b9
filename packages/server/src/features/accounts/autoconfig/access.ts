import type { FoundServers } from '../../../providers/discovery.ts'
import type { RequestContext } from '../../context.ts'
import { refuse } from '../../refuse.ts'

/** The servers of an address, searched for. Refuses `autodiscovery_failed` where there are none. */
export async function requireServers(context: RequestContext, email: string): Promise<FoundServers> {
  return (await context.services.serverSearch.find(email)) ?? refuse('autodiscovery_failed')
}
