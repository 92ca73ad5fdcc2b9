// Made by scripts/sdk.ts from the OpenAPI document. Do not edit.

/**
 * Each method as a text: the HTTP method; the path below `/v1`, with the names of a query that goes beside a body
 * after `?`; `*` for a list that is read page by page, `=` for a download.
 */
export const OPERATIONS = {
  accounts: {
    list: 'GET /accounts *',
    connect: 'POST /accounts',
    get: 'GET /accounts/{accountId}',
    update: 'PATCH /accounts/{accountId}',
    delete: 'DELETE /accounts/{accountId}',
    sync: 'POST /accounts/{accountId}/sync',
    createToken: 'POST /accounts/{accountId}/tokens',
    createImap: 'POST /imap-accounts',
    updateImapSettings: 'PATCH /accounts/{accountId}/imap-settings',
  },
  auditLog: {
    list: 'GET /audit-log *',
  },
  autoconfig: {
    find: 'GET /autoconfig',
  },
  availability: {
    find: 'POST /accounts/{accountId}/availability/find',
    findShared: 'POST /availability/find',
  },
  calendarEvents: {
    list: 'GET /accounts/{accountId}/calendar-events *',
    create: 'POST /accounts/{accountId}/calendar-events',
    get: 'GET /accounts/{accountId}/calendar-events/{eventId}',
    update: 'PATCH /accounts/{accountId}/calendar-events/{eventId}?scope',
    delete: 'DELETE /accounts/{accountId}/calendar-events/{eventId}',
    respond: 'POST /accounts/{accountId}/calendar-events/{eventId}/respond',
  },
  calendars: {
    list: 'GET /accounts/{accountId}/calendars',
    create: 'POST /accounts/{accountId}/calendars',
    update: 'PATCH /accounts/{accountId}/calendars/{calendarId}',
    delete: 'DELETE /accounts/{accountId}/calendars/{calendarId}',
  },
  changes: {
    list: 'GET /changes',
  },
  connectSessions: {
    create: 'POST /connect-sessions',
    get: 'GET /connect-sessions/{sessionId}',
    authorize: 'POST /oauth-authorizations',
  },
  contactFolders: {
    list: 'GET /accounts/{accountId}/contact-folders',
  },
  contacts: {
    list: 'GET /accounts/{accountId}/contacts *',
    create: 'POST /accounts/{accountId}/contacts',
    get: 'GET /accounts/{accountId}/contacts/{contactId}',
    update: 'PATCH /accounts/{accountId}/contacts/{contactId}',
    delete: 'DELETE /accounts/{accountId}/contacts/{contactId}',
    photo: 'GET /accounts/{accountId}/contacts/{contactId}/photo =',
  },
  drafts: {
    create: 'POST /accounts/{accountId}/drafts',
    replace: 'PUT /accounts/{accountId}/drafts/{messageId}',
    delete: 'DELETE /accounts/{accountId}/drafts/{messageId}',
    send: 'POST /accounts/{accountId}/drafts/{messageId}/send',
  },
  hostedConnectSessions: {
    get: 'GET /hosted/connect-sessions/{token}',
    connectImap: 'POST /hosted/connect-sessions/{token}/imap-accounts',
    findServers: 'GET /hosted/connect-sessions/{token}/autoconfig',
  },
  identities: {
    list: 'GET /accounts/{accountId}/identities',
    create: 'POST /accounts/{accountId}/identities',
    update: 'PATCH /accounts/{accountId}/identities/{identityId}',
    delete: 'DELETE /accounts/{accountId}/identities/{identityId}',
  },
  integrity: {
    get: 'GET /accounts/{accountId}/integrity',
  },
  mailMerges: {
    create: 'POST /accounts/{accountId}/mail-merges',
  },
  mailSettings: {
    get: 'GET /accounts/{accountId}/mail-settings',
    update: 'PATCH /accounts/{accountId}/mail-settings',
  },
  mailboxes: {
    list: 'GET /accounts/{accountId}/mailboxes',
    create: 'POST /accounts/{accountId}/mailboxes',
    update: 'PATCH /accounts/{accountId}/mailboxes/{mailboxId}',
    delete: 'DELETE /accounts/{accountId}/mailboxes/{mailboxId}',
  },
  messages: {
    list: 'GET /accounts/{accountId}/messages *',
    get: 'GET /accounts/{accountId}/messages/{messageId}',
    update: 'PATCH /accounts/{accountId}/messages/{messageId}',
    delete: 'DELETE /accounts/{accountId}/messages/{messageId}',
    raw: 'GET /accounts/{accountId}/messages/{messageId}/raw =',
    attachment: 'GET /accounts/{accountId}/messages/{messageId}/attachments/{attachmentId} =',
  },
  oauthApps: {
    list: 'GET /oauth-apps',
    create: 'POST /oauth-apps',
    get: 'GET /oauth-apps/{appId}',
    update: 'PATCH /oauth-apps/{appId}',
    delete: 'DELETE /oauth-apps/{appId}',
  },
  openapi: 'GET /openapi.json',
  outbox: {
    list: 'GET /accounts/{accountId}/outbox *',
    create: 'POST /accounts/{accountId}/outbox',
    get: 'GET /accounts/{accountId}/outbox/{outboxId}',
    reschedule: 'PATCH /accounts/{accountId}/outbox/{outboxId}',
    cancel: 'DELETE /accounts/{accountId}/outbox/{outboxId}',
    release: 'POST /accounts/{accountId}/outbox/{outboxId}/release',
  },
  search: {
    messages: 'GET /accounts/{accountId}/search/messages *',
  },
  settings: {
    get: 'GET /settings',
    update: 'PATCH /settings',
  },
  sharedMailboxes: {
    add: 'POST /accounts/{accountId}/shared-mailboxes',
  },
  suppressionReviews: {
    list: 'GET /suppression-reviews *',
    approve: 'POST /suppression-reviews/{reviewId}/approve',
    dismiss: 'POST /suppression-reviews/{reviewId}/dismiss',
  },
  suppressions: {
    list: 'GET /suppressions',
    create: 'POST /suppressions',
    update: 'PATCH /suppressions/{listId}',
    delete: 'DELETE /suppressions/{listId}',
    listEntries: 'GET /suppressions/{listId}/entries *',
    addEntries: 'POST /suppressions/{listId}/entries',
    deleteEntry: 'DELETE /suppressions/{listId}/entries/{address}',
  },
  templateRenders: {
    create: 'POST /template-renders',
  },
  templates: {
    list: 'GET /templates *',
    create: 'POST /templates',
    get: 'GET /templates/{templateId}',
    update: 'PATCH /templates/{templateId}',
    delete: 'DELETE /templates/{templateId}',
  },
  threads: {
    list: 'GET /accounts/{accountId}/threads *',
    get: 'GET /accounts/{accountId}/threads/{threadId}',
    update: 'PATCH /accounts/{accountId}/threads/{threadId}',
    delete: 'DELETE /accounts/{accountId}/threads/{threadId}',
  },
  tracking: {
    get: 'GET /accounts/{accountId}/outbox/{outboxId}/tracking',
  },
  usage: {
    get: 'GET /usage',
  },
  webhookDeliveries: {
    listAttempts: 'GET /webhooks/{endpointId}/attempts *',
    replay: 'POST /webhooks/{endpointId}/replay',
    replayEvent: 'POST /webhooks/{endpointId}/events/{eventId}/replay',
    countFailedDeliveries: 'GET /webhooks/{endpointId}/failed-deliveries/count',
    replayFailed: 'POST /webhooks/{endpointId}/replay-failed',
  },
  webhooks: {
    list: 'GET /webhooks',
    create: 'POST /webhooks',
    update: 'PATCH /webhooks/{endpointId}',
    delete: 'DELETE /webhooks/{endpointId}',
    rotateSecret: 'POST /webhooks/{endpointId}/rotate-secret',
    test: 'POST /webhooks/{endpointId}/test',
  },
} as const
