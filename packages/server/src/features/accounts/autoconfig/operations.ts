import { implement } from '@orpc/server'
import { autoconfig as contract } from '@waxwing/contract/accounts/autoconfig.ts'
import type { RequestContext } from '../../context.ts'
import { requireServers } from './access.ts'

const on = implement(contract).$context<RequestContext>()

export const autoconfigOperations = {
  find: on.find.handler(({ input: { query }, context }) => requireServers(context, query.email)),
}
