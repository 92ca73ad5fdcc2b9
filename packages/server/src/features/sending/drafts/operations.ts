import { implement } from '@orpc/server'
import { drafts } from '@waxwing/contract/sending/drafts.ts'
import { requireAccountView, requireConnectable } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireDraft } from './access.ts'
import { createDraft } from './create.ts'
import { deleteDraft } from './delete.ts'
import { requireMaySend } from '../accepting/limits.ts'
import { replaceContent } from './replace.ts'
import { sendDraft } from '../accepting/send-draft.ts'
import type { DraftServices } from './services.ts'

const on = implement(drafts).$context<RequestContext>()

export function draftOperations(services: DraftServices) {
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const account = await requireAccountView(context, params.accountId)
      requireConnectable(account)
      return createDraft(context, services, account, body)
    }),

    replace: on.replace.handler(async ({ input: { params, body }, context }) =>
      replaceContent(context, services, await requireDraft(context, params), body),
    ),

    delete: on.delete.handler(async ({ input: { params }, context }) =>
      deleteDraft(context, services, await requireDraft(context, params)),
    ),

    send: on.send.handler(async ({ input: { params, body }, context }) => {
      await requireMaySend(context.db, context.tenantId)
      return sendDraft(context, services, await requireDraft(context, params), body)
    }),
  }
}
