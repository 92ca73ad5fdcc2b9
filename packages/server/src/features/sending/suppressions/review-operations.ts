import { implement } from '@orpc/server'
import { suppressionReviews } from '@waxwing/contract/sending/suppressions.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { answerPage, requirePosition } from '../../../calls/list-cursor.ts'
import { presentReview } from './present.ts'
import { recordApproved, recordDismissed } from './record-reviews.ts'
import { listReviews } from './store.ts'

const on = implement(suppressionReviews).$context<RequestContext>()

export const suppressionReviewOperations = {
  list: on.list.handler(async ({ input: { query }, context }) => {
    const { limit, cursor, listId } = query
    const binding = { list: 'suppression-reviews', filters: { listId } }
    const position = requirePosition(context, cursor, binding)
    const rows = await listReviews(context.db, context.tenantId, { listId, position, limit })
    return answerPage(context, rows, { limit, binding, present: presentReview })
  }),

  approve: on.approve.handler(async ({ input: { params }, context }) =>
    context.change(async unit => ({ added: await recordApproved(unit, params.reviewId) })),
  ),

  dismiss: on.dismiss.handler(async ({ input: { params }, context }) =>
    context.change(async unit => {
      await recordDismissed(unit, params.reviewId)
      return null
    }),
  ),
}
