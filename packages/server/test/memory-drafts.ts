import { sql } from 'kysely'
import type { Connections } from '../src/connections/connections.ts'
import { settleDraftHandler } from '../src/features/mail/messages/settle-draft-job.ts'
import type { ChangingProvider, SettledDraft } from '../src/providers/changing.ts'
import type { DraftMark } from '../src/providers/draft-mark.ts'
import type {
  ArrivedStep,
  MailProvider,
  MessageKey,
  RemoteMessage,
  SourceStep,
} from '../src/providers/mail.ts'
import { ownAccount, passUntilCaughtUp } from './memory-account.ts'
import { type LoggedMessage, LogServer, logMail } from './memory-log.ts'
import { remoteMessage } from './memory-mail.ts'
import { openTestDatabase } from './open-database.ts'

export interface DraftTraits {
  internetMessageId: string
  draftMark?: DraftMark
  isDraft?: boolean
  isIncomplete?: true
}

/** An account with one message, in whose folder for drafts this and other clients write. */
export async function openDrafts() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new LogServer('folders')
  const inbox = server.create('Inbox', 'inbox')
  const drafts = server.create('Drafts', 'drafts')
  const sent = server.create('Sent', 'sent')
  const trash = server.create('Trash', 'trash')
  server.deliver([inbox.key], 'hello', new Date(1.7e12))
  const traits = new Map<string, DraftTraits>()
  const owned = await ownAccount(db)
  const sync = () => passUntilCaughtUp(db, owned, { connect: () => withTraits(logMail(server).mail, traits) })
  await sync()
  const resources = opened.move()
  const accountId = owned.id
  const write = (content: string, of: DraftTraits): LoggedMessage => {
    const message = server.deliver([drafts.key], content, new Date(1.7e12 + traits.size * 1_000))
    message.isDraft = true
    traits.set(message.id, of)
    return message
  }
  return {
    db,
    server,
    drafts,
    sent,
    trash,
    traits,
    accountId,
    sync,
    write,
    locationOf: ({ id: key }: LoggedMessage) => ({
      source: drafts.key,
      key,
      isValidUnder: () => true,
      firstCursor: null,
    }),
    /** A draft as the provider has it. */
    read: (message: LoggedMessage) =>
      remoteMessage({ ...message, key: message.id, mailboxKeys: [...message.mailboxes] }),
    async index() {
      const { rows } = await sql<{ id: string; subject: string; version: number }>`
        select id, subject, content_version as version from message where account_id = ${accountId} and subject <> 'hello'
        order by id
      `.execute(db)
      return rows
    },
    async events() {
      const { rows } = await sql<{ type: string }>`
        select type from event where account_id = ${accountId} and type like 'message.%' order by id
      `.execute(db)
      return rows.map(({ type }) => type)
    },
    async jobs() {
      const { rows } = await sql<{ id: string }>`
        select id::text from job where kind = 'settle_draft'
      `.execute(db)
      return rows.length
    },
    /** Runs the first of the jobs that settle drafts, with an answer of the provider. */
    async settle(answer: () => SettledDraft, readDraft?: (key: MessageKey) => RemoteMessage | null) {
      const { rows } = await sql<{ payload: unknown; tenantId: string }>`
        select payload, tenant_id as "tenantId" from job where kind = 'settle_draft' order by id limit 1
      `.execute(db)
      const [{ payload, tenantId }] = rows as [(typeof rows)[0]]
      const changing = {
        settleDraft: async () => answer(),
        ...(readDraft && { readDraft: async (key: MessageKey) => readDraft(key) }),
      } as Partial<ChangingProvider> as ChangingProvider
      const connections = {
        use: (_account: unknown, _capability: unknown, work: (provider: ChangingProvider) => unknown) =>
          work(changing),
      } as unknown as Connections
      await settleDraftHandler({ db, connections }).run(payload, {
        tenantId,
        signal: new AbortController().signal,
      })
    },
    async hold(id: string, seconds: number) {
      await sql`
        insert into draft_change (message_id, generation, held_until)
        values (${id}, 2, clock_timestamp() + make_interval(secs => ${seconds}))
        on conflict (message_id) do update set held_until = excluded.held_until
      `.execute(db)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

function isArrived<Step extends Pick<SourceStep, 'type'>>(step: Step): step is Step & ArrivedStep {
  return step.type === 'arrived'
}

/** @param nameOf the name under which `traits` has a message; by default its key */
export function withTraits(
  mail: MailProvider,
  traits: ReadonlyMap<string, DraftTraits>,
  nameOf = ({ key }: RemoteMessage) => String(key),
): MailProvider {
  const told = (message: RemoteMessage): RemoteMessage => ({ ...message, ...traits.get(nameOf(message)) })
  const known = <Step extends Pick<SourceStep, 'type'>>(step: Step): Step =>
    isArrived(step) ? { ...step, messages: step.messages.map(told) } : step
  const steps = async function* (given: AsyncIterable<SourceStep>): AsyncGenerator<SourceStep> {
    for await (const step of given)
      yield step.type === 'page' ? { ...step, steps: step.steps.map(known) } : known(step)
  }
  return {
    ...mail,
    compare: (source, options) => steps(mail.compare(source, options)),
    arrivals: (source, options) => steps(mail.arrivals(source, options)),
  }
}

export const ours = (generation: number): DraftTraits => ({
  internetMessageId: '<d1@example.com>',
  draftMark: { draftId: 'd1', generation },
})
