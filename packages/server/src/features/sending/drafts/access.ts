import { isUuid } from '../../../kit/ids.ts'
import { requireAccountView, requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { type FullRow, findMessage } from '../../mail/messages/store.ts'
import { refuse } from '../../../calls/refuse.ts'

export interface FoundDraft {
  account: AccountView
  draft: FullRow
}

/** The draft of the path, in an account whose provider can be used. */
export async function requireDraft(
  context: RequestContext,
  params: { accountId: string; messageId: string },
): Promise<FoundDraft> {
  const account = await requireAccountView(context, params.accountId)
  const id = params.messageId.toLowerCase()
  const draft = isUuid(id) ? await findMessage(context.db, account.id, id) : null
  if (!draft) refuse('draft_not_found')
  if (!draft.is_draft) refuse('not_a_draft')
  requireConnectable(account)
  return { account, draft }
}
