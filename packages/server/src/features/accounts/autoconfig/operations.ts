import { implement } from '@orpc/server'
import { autoconfig as contract } from '@waxwing/contract/accounts/autoconfig.ts'
import type { ServerSearch } from '../../../providers/discovery.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireServers } from './access.ts'

const on = implement(contract).$context<RequestContext>()

export function autoconfigOperations(search: ServerSearch) {
  return {
    find: on.find.handler(({ input: { query } }) => requireServers(search, query.email)),
  }
}
