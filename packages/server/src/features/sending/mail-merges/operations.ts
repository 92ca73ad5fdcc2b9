import { implement } from '@orpc/server'
import { mailMerges } from '@waxwing/contract/sending/mail-merges.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { SendServices } from '../accepting/send-message.ts'
import { requireSendingTerms } from '../accepting/sending-terms.ts'
import { mergeMail } from '../accepting/merge-mail.ts'

const on = implement(mailMerges).$context<RequestContext>()

export function mailMergeOperations(services: SendServices) {
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const terms = await requireSendingTerms(context, services, params.accountId)
      return mergeMail(context, services, terms, body)
    }),
  }
}
