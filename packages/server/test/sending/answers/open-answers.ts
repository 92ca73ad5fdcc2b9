import type { ChangeEvent, EventData, EventType } from '@waxwing/contract/events.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import type { TestApp } from '../../open-app.ts'
import { openWorld, type World } from '../../servers/world.ts'
import { QUICK_PACE, waitForFirstSync } from '../../sync/followed-account.ts'
import { waitUntil } from '../../wait-until.ts'
import { connectSender, openSendingApp, send, type SendingApp, waitForStatus } from '../open-sending.ts'
import type { ReportedSend } from './dsn-shapes.ts'

/** The whole service, with an account that follows its mailbox and sends. */
export interface AnswersApp extends SendingApp {
  world: World
  accountId: string
  email: string
  /** Sends a message, and waits until it is handed over. */
  sendOne(change?: Record<string, unknown>): Promise<OutboxEntry>
  /** Fields by which a report names a send. */
  reported(entry: OutboxEntry): ReportedSend
}

export async function openAnswers(): Promise<AnswersApp> {
  await using opened = new AsyncDisposableStack()
  const sending = opened.use(
    await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE } }),
  )
  const { app, imap } = sending
  const user = await imap.addUser()
  const world = opened.use(await openWorld(imap, user))
  const accountId = await connectSender(app, sending, { user })
  await waitForFirstSync(app, accountId)
  const owned = opened.move()
  return {
    ...sending,
    world,
    accountId,
    email: user.email,
    async sendOne(change = {}) {
      const entry = await send(app, accountId, change)
      return waitForStatus(app, entry, 'sent')
    },
    reported: ({ id, internetMessageId }) => ({
      messageId: internetMessageId,
      outboxId: id,
      sender: user.email,
    }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The data of all events of a type, oldest first. */
export async function dataOf<T extends EventType>(app: TestApp, type: T): Promise<EventData<T>[]> {
  const { body } = await app.get<{ items: ChangeEvent[] }>(`/v1/changes?limit=200&types=${type}`)
  return body.items.map(({ data }) => data as EventData<T>)
}

/** Delivers messages, and waits until all of them were announced and looked at. */
export async function deliverAndLook(
  { app, world }: Pick<AnswersApp, 'app' | 'world'>,
  sources: readonly string[],
  mailbox = 'INBOX',
): Promise<void> {
  const before = (await dataOf(app, 'message.created')).length
  await world.deliver(
    sources.map(raw => ({ raw })),
    mailbox,
  )
  await waitUntil(
    'the arrivals',
    async () => (await dataOf(app, 'message.created')).length >= before + sources.length,
  )
  await waitUntilLookedAt(app)
}

export async function waitUntilLookedAt({ db }: Pick<TestApp, 'db'>): Promise<void> {
  await waitUntil('the look at all arrivals', async () => {
    const { rows } = await sql<{ isDone: boolean }>`
      select not exists (select from pending_answer) and not exists (
        select from event left join event_follower as follower
          on follower.tenant_id = event.tenant_id and follower.name = 'answers'
        where event.type = 'message.created' and event.id > coalesce(follower.after_id, 0)
      ) as "isDone"
    `.execute(db)
    return rows[0]?.isDone
  })
}
