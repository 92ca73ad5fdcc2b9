import { implement } from '@orpc/server'
import type { EventScope } from '@waxwing/contract/calendars/calendar-event-input.ts'
import { calendarEvents } from '@waxwing/contract/calendars/calendar-events.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import { askForChange, askForEvent, askForRemoval, askForResponse } from './ask-events.ts'
import { changeCalendars, requireWritable } from './ask-provider.ts'
import { isFirstOccurrence } from './first-occurrence.ts'
import { beginIntent, endIntent, intentOf, whileLeased } from './intents.ts'
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
  const { connections, planner } = options
  return {
    create: on.create.handler(async ({ input: { params, body }, context }) => {
      const writing = await requireWriting(context, params.accountId, options)
      const { account } = writing
      const calendar = requireNamed(writing, body.calendarId)
      const fields = await planEvent(body, writing.planFor(calendar))
      const reached = await requireWritable(context, account)
      requireEditable(calendar)

      const { id: creationId, isResumed: mayExist } = context.attempt
      const asked = { calendarKey: calendar.provider_key, fields, creation: { creationId, mayExist } }
      const to = writing.optionsFor({ notify: body.notify, concernsOthers: fields.attendees.length > 0 })
      const written = await changeCalendars(context, connections, reached, {
        marked: [],
        work: writer => askForEvent(writer, asked, to),
      })
      const { window } = to
      return planner.run(account.id, items =>
        context.change(async unit => {
          const recording = { window, planner: items, movedId: null, itemId: null, answerId: null }
          return recordAnswered(unit, await lockCalendars(unit, account.id), written, recording)
        }),
      )
    }),

    update: on.update.handler(async ({ input: { params, query, body }, context }) => {
      const found = await requireTarget(context, params, options)
      const { writing, target, calendar } = found
      const { account } = writing
      const part = planPart(target, query.scope, await isFirst(context, found, query.scope))
      const creationId = context.attempt.id
      const asked = await planChange(found, part, body, creationId)
      const reached = await requireWritable(context, account)
      requireEditable(calendar)
      if (asked.to) requireEditable(asked.to)
      const itemId = target.root.id
      if (Object.keys(asked.change).length === 0 && !asked.to)
        return context.change(
          async unit =>
            (await findWritten(unit.sql, account.id, target.id)) ?? refuse('calendar_event_not_found'),
        )

      const to = writing.optionsFor({ notify: body.notify, concernsOthers: asked.concernsOthers })
      const intent = intentOf(asked, body.notify)
      if (intent) await context.step(unit => beginIntent(unit, account.id, creationId, intent))
      const answerId = { all: itemId, member: target.id, following: null }[part]
      const movedId = asked.to ? itemId : null
      const write = async () => {
        const written = await changeCalendars(context, connections, reached, {
          marked: [{ calendarId: calendar.id, keys: [asked.place.key] }],
          intentId: intent && creationId,
          work: writer => askForChange(writer, asked, to),
        })
        return planner.run(account.id, items =>
          context.change(async unit => {
            const recording = { window: to.window, planner: items, movedId, itemId, answerId }
            const event = await recordAnswered(
              unit,
              await lockCalendars(unit, account.id),
              written,
              recording,
            )
            if (intent) await endIntent(unit, account.id, creationId)
            return event
          }),
        )
      }
      return intent ? whileLeased(context.db, creationId, write) : write()
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const found = await requireTarget(context, params, options)
      const { writing, target, calendar, place } = found
      const { account, own } = writing
      const part = planPart(target, query.scope, await isFirst(context, found, query.scope))
      const reached = await requireWritable(context, account)
      requireEditable(calendar)

      const concernsOthers = hasOthers(target, own)
      const to = writing.optionsFor({ notify: query.notify, concernsOthers })
      const asked = { place, part: planRemoval(target, part) }
      const written = await changeCalendars(context, connections, reached, {
        marked: [{ calendarId: calendar.id, keys: [place.key] }],
        work: writer => askForRemoval(writer, asked, to),
      })
      return planner.run(account.id, items =>
        context.change(async unit => {
          const recording = { window: to.window, planner: items, movedId: null }
          await recordWritten(unit, await lockCalendars(unit, account.id), written, recording)
          return null
        }),
      )
    }),

    respond: on.respond.handler(async ({ input: { params, body }, context }) => {
      const found = await requireTarget(context, params, options)
      const { writing, target, calendar, place } = found
      const { account } = writing
      const asked = { place, ...planResponse(target, body, writing.own) }
      const reached = await requireWritable(context, account)
      requireEditable(calendar)

      const to = writing.optionsFor({ notify: body.notify, concernsOthers: true })
      const written = await changeCalendars(context, connections, reached, {
        marked: [{ calendarId: calendar.id, keys: [place.key] }],
        work: writer => askForResponse(writer, asked, to),
      })
      const { window } = to
      const { response } = asked
      return planner.run(account.id, items =>
        context.change(async unit => {
          const ids = { movedId: null, itemId: target.root.id, answerId: target.id }
          const locked = await lockCalendars(unit, account.id)
          return recordResponse(unit, locked, written, { window, planner: items, ...ids, response })
        }),
      )
    }),
  }

  async function isFirst(
    context: RequestContext,
    { writing, target, calendar }: FoundTarget,
    scope: EventScope,
  ): Promise<boolean> {
    if (scope !== 'following') return false
    return isFirstOccurrence(context.db, target, writing.planFor(calendar))
  }
}
