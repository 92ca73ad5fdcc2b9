import { implement } from '@orpc/server'
import type { EventScope } from '@waxwing/contract/calendars/calendar-event-input.ts'
import { calendarEvents } from '@waxwing/contract/calendars/calendar-events.ts'
import type { ReachedAccount } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import { changeCalendars, requireWritable } from './ask-provider.ts'
import { carryOut } from './carry-out.ts'
import { isFirstOccurrence } from './first-occurrence.ts'
import { hasOthers, planChange, planPart, planRemoval, planResponse } from './plan-change.ts'
import { planEvent } from './plan-event.ts'
import { findWritten, recordAnswered, recordResponse, recordWritten } from './record-written.ts'
import {
  type FoundTarget,
  requireEditable,
  requireNamed,
  requireTarget,
  requireWriting,
  type Writing,
} from './require-target.ts'

const on = implement(calendarEvents).$context<RequestContext>()

/** The operations that change events at the provider of their account. */
export function eventWriteOperations(options: Writing & { connections: Connections }) {
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const writing = await requireWriting(context, params.accountId, options)
      const { account } = writing
      const calendar = requireNamed(writing, body.calendarId)
      const fields = await planEvent(body, writing.planFor(calendar))
      const reached = await requireWritable(context, account)
      requireEditable(calendar)

      const { id: creationId, isResumed: mayExist } = context.attempt
      return carryOut(context, options, {
        id: creationId,
        account,
        reached,
        asked: {
          type: 'create',
          calendarKey: calendar.provider_key,
          fields,
          creation: { creationId, mayExist },
        },
        to: writing.optionsFor({ notify: body.notify, concernsOthers: fields.attendees.length > 0 }),
        item: null,
        marked: [],
        record: (unit, locked, written, recording) =>
          recordAnswered(unit, locked, written, { ...recording, itemId: null, answerId: null }),
      })
    }),

    update: on.update.handler(async ({ input: { params, query, body }, context }) => {
      const found = await requireTarget(context, params, options)
      const { writing, target, calendar } = found
      const { account } = writing
      const part = planPart(target, query.scope, await isFirst(context, found, query.scope))
      const creationId = context.attempt.id
      const { asked, to, concernsOthers } = await planChange(found, part, body, creationId)
      const reached = await requireWritable(context, account)
      requireEditable(calendar)
      if (to) requireEditable(to)
      if (Object.keys(asked.change).length === 0 && !to)
        return context.change(
          async unit =>
            (await findWritten(unit.sql, account.id, target.id)) ?? refuse('calendar_event_not_found'),
        )

      const itemId = target.root.id
      const answerId = { all: itemId, member: target.id, following: null }[part]
      return carryOut(context, options, {
        ...carriedFrom(found, reached),
        id: creationId,
        asked,
        to: writing.optionsFor({ notify: body.notify, concernsOthers }),
        isMoved: to !== null,
        record: (unit, locked, written, recording) =>
          recordAnswered(unit, locked, written, { ...recording, itemId, answerId }),
      })
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const found = await requireTarget(context, params, options)
      const { writing, target, calendar, place } = found
      const { account, own } = writing
      const part = planPart(target, query.scope, await isFirst(context, found, query.scope))
      const reached = await requireWritable(context, account)
      requireEditable(calendar)

      const concernsOthers = hasOthers(target, own)
      return carryOut(context, options, {
        ...carriedFrom(found, reached),
        id: context.attempt.id,
        asked: { type: 'remove', place, part: planRemoval(target, part) },
        to: writing.optionsFor({ notify: query.notify, concernsOthers }),
        record: async (unit, locked, written, recording) => {
          await recordWritten(unit, locked, written, recording)
          return null
        },
      })
    }),

    respond: on.respond.handler(async ({ input: { params, body }, context }) => {
      const found = await requireTarget(context, params, options)
      const { writing, target, calendar, place } = found
      const { account } = writing
      const response = planResponse(target, body, writing.own)
      const reached = await requireWritable(context, account)
      requireEditable(calendar)

      const ids = { itemId: target.root.id, answerId: target.id }
      return carryOut(context, options, {
        ...carriedFrom(found, reached),
        id: context.attempt.id,
        asked: { type: 'respond', place, ...response },
        to: writing.optionsFor({ notify: body.notify, concernsOthers: true }),
        record: (unit, locked, written, recording) =>
          recordResponse(unit, locked, written, { ...recording, ...ids, response: response.response }),
      })
    }),
  }

  async function isFirst(
    context: RequestContext,
    { writing, target, calendar, place }: FoundTarget,
    scope: EventScope,
  ): Promise<boolean> {
    if (scope !== 'following') return false
    const planning = writing.planFor(calendar)
    const { calendarKey, key } = place
    const { window } = planning
    return isFirstOccurrence(context.db, target, {
      ...planning,
      async readTaken() {
        const reached = await requireWritable(context, writing.account)
        const { items } = await changeCalendars(context, options.connections, reached, {
          marked: [],
          work: provider => provider.read({ calendarKey, keys: [key], window }),
        })
        return items.find(item => item.type === 'item')?.members?.taken ?? null
      },
    })
  }
}

/** The event that a write is about. */
function carriedFrom(
  { writing: { account }, target: { root }, calendar, place }: FoundTarget,
  reached: ReachedAccount,
) {
  return {
    account,
    reached,
    item: { id: root.id, isSeries: root.kind === 'series' },
    marked: [{ calendarId: calendar.id, keys: [place.key] }],
  }
}
