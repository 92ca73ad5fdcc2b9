import { auth, gmail, type gmail_v1 as v1 } from '@googleapis/gmail'
import type { DrivenSandbox } from '../servers/sandbox.ts'

export const SCOPES = ['https://mail.google.com/', 'https://www.googleapis.com/auth/gmail.settings.basic']

export interface GmailMessage {
  id: string
  threadId: string
  labelIds: string[]
  subject: string
}

/** The OAuth client of the other client, by which its calls can be distinguished from those of the service. */
const OTHER_CLIENT = 'another-client'
const FAULTS = new Set([401, 403, 429, 500, 502, 503, 504])
const TRIES_MAX = 50

/** The status by which Gmail refused a call; null if it did not. */
export function refusalOf(error: unknown): number | null {
  const { status } = error as { status?: unknown }
  return typeof status === 'number' && !FAULTS.has(status) ? status : null
}

/** The answer, or null if it is refused with a status that the caller expects. */
async function unless<T>(status: number, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (refusalOf(error) === status) return null
    throw error
  }
}

type MakeCall<T> = (api: v1.Resource$Users) => Promise<{ data: T }>

/** Another client of a mailbox: Google's own. */
export interface GmailClient {
  /** Makes a call, again and again while faults strike it. The user need not be named. */
  call<T>(make: MakeCall<T>): Promise<T>
  insert(
    raw: string,
    labelIds: readonly string[],
    internalDate?: Date,
  ): Promise<{ id: string; threadId: string }>
  modify(id: string, labels: { add?: readonly string[]; remove?: readonly string[] }): Promise<void>
  delete(id: string): Promise<void>
  createLabel(name: string): Promise<string>
  renameLabel(id: string, name: string): Promise<void>
  deleteLabel(id: string): Promise<void>
  labels(): Promise<Array<{ id: string; name: string; type: string }>>
  createDraft(raw: string): Promise<string>
  updateDraft(id: string, raw: string): Promise<void>
  deleteDraft(id: string): Promise<void>
  /** The ids of the newest drafts. */
  drafts(): Promise<string[]>
  /** Every message with its labels. */
  messages(): Promise<GmailMessage[]>
  /** The source of a message. */
  rawOf(id: string): Promise<string>
}

/** Opens another client of a mailbox of the sandbox. */
export async function openGmailClient(sandbox: DrivenSandbox, email: string): Promise<GmailClient> {
  await sandbox.addClient({ clientId: OTHER_CLIENT, clientSecret: OTHER_CLIENT }).catch(() => {})
  const { accessToken } = await sandbox.grant(email, SCOPES, OTHER_CLIENT)
  return gmailClientAt(sandbox.origin('gmail.googleapis.com'), accessToken)
}

export function gmailClientAt(origin: string, accessToken: string): GmailClient {
  const signedIn = new auth.OAuth2()
  signedIn.setCredentials({ access_token: accessToken })
  // The library would wait before it asks again.
  const { users } = gmail({
    version: 'v1',
    auth: signedIn,
    rootUrl: origin,
    retry: false,
    params: { userId: 'me' },
  })
  async function call<T>(make: MakeCall<T>, triesLeft = TRIES_MAX): Promise<T> {
    try {
      return (await make(users)).data
    } catch (error) {
      if (refusalOf(error) !== null || triesLeft === 0) throw error
      return call(make, triesLeft - 1)
    }
  }
  /** Changes what somebody else may have deleted, or an earlier try whose answer was lost. */
  const change = async <T>(make: MakeCall<T>) => void (await unless(404, call(make)))
  const encoded = (raw: string) => Buffer.from(raw).toString('base64url')
  const listLabels = async () =>
    ((await call(api => api.labels.list())).labels ?? []).map(({ id, name, type }) => ({
      id: id!,
      name: name!,
      type: type!,
    }))
  return {
    call: make => call(make),
    async insert(raw, labelIds, internalDate) {
      const dated = internalDate ? `Date: ${internalDate.toUTCString().replace('GMT', '+0000')}\r\n` : ''
      let tries = 0
      const { id, threadId } = await call(async api => {
        // A try before may have been carried out, though its answer was lost.
        const found = tries++ === 0 ? null : await findByMessageId(api, raw)
        if (found) return { data: found }
        return api.messages.insert({
          internalDateSource: internalDate ? 'dateHeader' : 'receivedTime',
          requestBody: { raw: encoded(dated + raw), labelIds: [...labelIds] },
        })
      })
      return { id: id!, threadId: threadId! }
    },
    modify: (id, { add = [], remove = [] }) =>
      change(api =>
        api.messages.modify({
          id,
          requestBody: { addLabelIds: [...add], removeLabelIds: [...remove] },
        }),
      ),
    delete: id => change(api => api.messages.delete({ id })),
    async createLabel(name) {
      // A try after one that was carried out and answered with a fault finds the label there.
      const made = await unless(
        409,
        call(api => api.labels.create({ requestBody: { name } })),
      )
      const id = made?.id ?? (await listLabels()).find(label => label.name === name)?.id
      if (!id) throw new Error(`There is no label ${name}`)
      return id
    },
    renameLabel: (id, name) => change(api => api.labels.patch({ id, requestBody: { name } })),
    deleteLabel: id => change(api => api.labels.delete({ id })),
    labels: listLabels,
    createDraft: async raw =>
      (await call(api => api.drafts.create({ requestBody: { message: { raw: encoded(raw) } } }))).id!,
    updateDraft: (id, raw) =>
      change(api => api.drafts.update({ id, requestBody: { message: { raw: encoded(raw) } } })),
    deleteDraft: id => change(api => api.drafts.delete({ id })),
    drafts: async () => ((await call(api => api.drafts.list())).drafts ?? []).map(({ id }) => id!),
    async messages() {
      const found: GmailMessage[] = []
      for (let pageToken = ''; ;) {
        const page = await call(api =>
          api.messages.list({ includeSpamTrash: true, maxResults: 500, ...(pageToken && { pageToken }) }),
        )
        const messages = await Promise.all(
          (page.messages ?? []).map(({ id }) =>
            unless(
              404,
              call(api => api.messages.get({ id: id!, format: 'metadata', metadataHeaders: ['Subject'] })),
            ),
          ),
        )
        for (const message of messages) if (message) found.push(toMessage(message))
        if (!page.nextPageToken) return found
        pageToken = page.nextPageToken
      }
    },
    async rawOf(id) {
      const { raw } = await call(api => api.messages.get({ id, format: 'raw' }))
      return Buffer.from(raw!, 'base64url').toString()
    },
  }
}

function toMessage({ id, threadId, labelIds, payload }: v1.Schema$Message): GmailMessage {
  const subject = payload?.headers?.find(({ name }) => name === 'Subject')?.value ?? ''
  return { id: id!, threadId: threadId!, labelIds: labelIds ?? [], subject }
}

async function findByMessageId(api: v1.Resource$Users, raw: string): Promise<v1.Schema$Message | null> {
  const messageId = /^Message-ID: <(.*)>\r$/im.exec(raw)?.[1]
  if (messageId === undefined) return null
  const { data } = await api.messages.list({ q: `rfc822msgid:${messageId}`, includeSpamTrash: true })
  return data.messages?.[0] ?? null
}

export async function configureGmail(
  sandbox: DrivenSandbox,
  settings: Record<string, unknown>,
): Promise<void> {
  const response = await fetch(`${sandbox.controlUrl}/gmail`, {
    method: 'PATCH',
    body: JSON.stringify(settings),
  })
  if (!response.ok) throw new Error(`PATCH /gmail: ${response.status} ${await response.text()}`)
}
