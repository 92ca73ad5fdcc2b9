import { implement } from '@orpc/server'
import { mailMerges } from '@waxwing/contract/sending/mail-merges.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { SendServices } from '../outbox/send.ts'
import { requireSendingTerms } from '../outbox/sending-terms.ts'
import { mergeMail } from './merge.ts'

const on = implement(mailMerges).$context<RequestContext>()

export function mailMergeOperations(services: SendServices) {
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const terms = await requireSendingTerms(context, services, params.accountId)
      return mergeMail(context, services, terms, body)
    }),
  }
}
