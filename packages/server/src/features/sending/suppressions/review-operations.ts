import { implement } from '@orpc/server'
import { suppressionReviews } from '@waxwing/contract/sending/suppressions.ts'
import { cutPage } from '../../../database/page.ts'
import type { RequestContext } from '../../context.ts'
import { requirePosition, sealPosition } from '../../list-cursor.ts'
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
    const { page, hasMore } = cutPage(rows, limit)
    const last = page.at(-1)
    const nextCursor =
      hasMore && last
        ? sealPosition(context, { time: last.created_at.toISOString(), id: last.id }, binding)
        : null
    return { items: page.map(presentReview), nextCursor }
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
