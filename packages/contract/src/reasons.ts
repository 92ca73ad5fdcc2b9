import { z } from 'zod'

/** Every reason for which the service refuses a request: its HTTP status, and its message for people. */
export const reasons = {
  ...answering(400, {
    access_token_rejected:
      'The provider refused the access token that it had just issued. Start the sign-in again.',
    ai_disabled: 'No language model is available here. Ask the operator to configure one or to turn AI on.',
    ai_refused: 'The language model declined to answer. Change the instructions and try again.',
    attachments_too_large:
      'The attachments are too large in total. Send fewer or smaller ones, or share a link.',
    cloud_required: 'This Microsoft app belongs to a sovereign cloud. Name it in microsoftCloud.',
    contact_unidentifiable:
      'A contact needs a name, an organization, an email address or a phone number. Give one.',
    credential_conflict: 'Give either a client secret or a certificate, not both.',
    credential_mismatch: 'The certificate and the private key do not match. Send a matching pair.',
    credential_missing:
      'A client secret, or a certificate with its private key, is needed. Give one of them.',
    dav_discovery_failed:
      'No calendar or address book was found on the DAV server. Check the URLs and the user.',
    dav_unsupported: 'The DAV server lacks a required feature. Use another server or leave dav out.',
    directory_id_not_allowed: 'The platform app gets its directory from the consent. Leave directoryId out.',
    from_not_allowed: 'From is not an identity of this account. Use one of them, or add an identity first.',
    gmail_push_unsupported: 'Push settings exist for Google apps only. Leave gmailPush out.',
    google_imap_requires_own_app: 'Gmail over IMAP needs an OAuth app of your own. Add one and name it.',
    honeypot_needs_click_tracking:
      'trackingHoneypot works only with trackClicks. Turn trackClicks on as well.',
    https_required: 'The URL must begin with https://.',
    identities_managed_by_provider:
      'The provider manages the identities of this account. Add the address there.',
    identity_failed: 'The provider refused the identity. Check that the account may send from this address.',
    identity_not_custom: 'Only custom identities can be renamed or deleted. Change this one at the provider.',
    identity_unavailable: 'The provider no longer offers this identity. Choose another one.',
    invalid_certificate: 'The certificate is not valid PEM, or it has expired. Send a current one.',
    invalid_client: 'The provider does not accept the app. Check its client id and secret.',
    invalid_cursor: 'The cursor is too old, or was not issued for this list. Start again without a cursor.',
    invalid_grant: 'The provider no longer accepts the grant. Let the user sign in again.',
    invalid_idempotency_key: 'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.',
    invalid_input: 'The request is not valid. See data.issues for what to change.',
    invalid_range: 'The range is empty, reversed or too long. Make its end later than its start.',
    invalid_recurrence: 'The recurrence is not valid iCalendar (RFC 5545). Correct its lines.',
    invalid_service_account_key:
      'This is not the key file of a Google service account. Send its JSON as downloaded.',
    invalid_template: 'The template does not compile. Correct the field named in data.field.',
    invalid_time_zone: 'The time zone is unknown. Use an IANA name such as Europe/Berlin.',
    invalid_working_hours: 'The working hours overlap or end before they start. Correct the ranges.',
    list_send_recipients:
      'A send to a list needs exactly one recipient, who can unsubscribe. Send one message each.',
    list_unsubscribe_unavailable: 'Unsubscribe links need a public base address. Ask the operator to set it.',
    login_failed:
      'The server refused the login. Check user and password; some providers need an app password.',
    mailbox_not_label: 'Only labels can be added or removed. Use mailboxId to move the message.',
    mailbox_outside_accounts:
      'A mailbox in the filter belongs to none of the accounts in the filter. Change one of the two.',
    mailbox_parent:
      'The mailbox cannot be moved there. Choose a parent that can have children and is not below the mailbox.',
    meeting_app_mismatch: 'The meeting app is for another service or of another kind. Name one that fits.',
    meeting_app_secret_unreadable: 'The stored secret of the meeting app cannot be read. Store it again.',
    meeting_recurrence_unsupported: 'The meeting service does not support this recurrence. Simplify it.',
    meeting_service_rejected: 'The meeting service refused the request. See the message and correct it.',
    mixed_event_times: 'Start and end must both be dates or both be date-times.',
    multiple_meeting_options: 'Choose one of onlineMeeting, onlineMeetingUrl and onlineMeetingService.',
    no_recipients: 'The message has no recipient. Name at least one in to, cc or bcc.',
    not_a_draft: 'This message is not a draft. Use the routes of messages.',
    not_dav_server: 'The URL does not belong to a DAV server. Check it.',
    not_imap_account: 'The account is not an IMAP account. Its servers are those of its provider.',
    not_microsoft: 'This option exists for Microsoft only. Leave it out.',
    not_testable: 'An app that users sign in with cannot be tested. Connect an account with it instead.',
    oauth_app_mismatch:
      'The OAuth app belongs to another provider or cloud. Name one of the right provider and cloud.',
    oauth_app_secret_unreadable: 'The stored secret of the OAuth app cannot be read. Store it again.',
    oauth_servers_fixed: 'The servers of an account with OAuth are fixed. Leave them out.',
    org_connection_account:
      'The account uses an organization connection. This works only for an account with its own grant.',
    params_too_large: 'The parameters of the template exceed 256 KB. Send less.',
    password_not_stored: 'Changing the servers needs the password, which is not stored. Send it as well.',
    password_required: 'A password is needed. Send it.',
    password_unsupported: 'The account signs in with OAuth and has no password. Leave it out.',
    plaintext_not_allowed: 'Unencrypted connections are not allowed here. Use security tls or starttls.',
    provider_not_allowed: 'The provider is not offered by this session. Choose one of its providers.',
    provider_not_configured: 'No OAuth app is configured for the provider. Add one first.',
    provider_rejected: 'The provider refused the request. See the message and correct it.',
    provider_unsupported: 'The provider of this account does not support this.',
    push_unavailable: 'The Pub/Sub topic cannot be used. Check its name and its permissions.',
    recurrence_on_instance: 'A single occurrence has no recurrence. Change the series instead.',
    redirect_uri_not_allowed:
      'The redirect URI is not allowed. Add exactly this URI to settings.redirectUris.',
    replay_range_too_large: 'The range holds more than 100,000 events. Replay it in smaller ranges.',
    scope_denied: 'The user did not grant a required permission. Let them sign in again and grant it.',
    scope_missing: 'The grant lacks a required permission. Reconnect the account and grant it.',
    server_not_allowed:
      'The server’s name does not exist, or it has no public address or usual port. Check the name, or ask the operator to allow the server.',
    session_expired: 'The session has expired. Create a new one.',
    shared_mailbox_account: 'The account is a shared mailbox. Use the account that opens it.',
    shared_mailbox_unsupported: 'The provider has no shared mailboxes that can be opened this way.',
    storage_unavailable:
      'Bodies cannot be stored without working object storage. Ask the operator to set it up.',
    suppressed: 'A recipient is suppressed. Remove the recipient, or the address from the list.',
    template_account_mismatch:
      'The template belongs to another account. Use one of this account or a shared one.',
    template_and_inline_fields: 'Give either a template or the fields of the message, not both.',
    template_render_failed:
      'The template cannot be rendered within its bounds. Correct the field named in data.field.',
    token_exchange_failed:
      'The provider refused to exchange the code or refresh token. Start the sign-in again.',
    tracking_unsupported: 'Tracking needs an HTML part and a public base address. Turn it off or add them.',
    user_required: 'The test needs a user to impersonate. Send user.',
  }),
  ...answering(401, {
    api_key_expired: 'The API key has expired. Use its successor or ask for a new key.',
    unauthenticated: 'A valid credential is needed. Send Authorization: Bearer <API key or account token>.',
  }),
  ...answering(402, {
    billing_past_due: 'A payment is overdue, so new sends and accounts are paused. Settle it first.',
  }),
  ...answering(403, {
    account_scope_forbidden:
      'The key is bound to certain accounts, but this affects the whole tenant. Use an unbound key.',
    account_token_forbidden: 'An account token reaches only the data of its own account. Use an API key.',
    calendar_read_only: 'The account may not write to this calendar. Ask its owner for write access.',
    mcp_only_key: 'An MCP key works at its mcpUrl only. Use an API key.',
    missing_scope: 'The credential lacks the scope that this operation needs. Use one that has it.',
    plan_limit_accounts: 'The plan allows no more accounts. Delete one or change the plan.',
    plan_limit_sends: 'The plan allows no more sends today. Send after 00:00 UTC or change the plan.',
    plan_limit_storage: 'The plan does not allow this storage. Set bodyStorage to none or change the plan.',
    plan_limit_webhooks: 'The plan allows no more webhook endpoints. Delete one or change the plan.',
    plan_module_unavailable: 'The plan does not include this module. Change the plan to use it.',
    provider_forbidden: 'The provider does not allow this. Check the permissions of the account there.',
    role_forbidden: 'Your role does not allow this. Ask an admin of the tenant.',
    session_required: 'This can be done in the console only. Sign in there.',
  }),
  ...answering(404, {
    account_not_found: 'There is no such account. Check its id.',
    booking_not_found: 'There is no such booking. Check its id.',
    calendar_event_not_found: 'There is no such calendar event. Check its id.',
    calendar_not_found: 'There is no such calendar. Check its id.',
    connect_session_not_found: 'There is no such connect session. Check its id or link.',
    contact_not_found: 'There is no such contact. Check its id.',
    draft_not_found: 'There is no such draft. Check its id.',
    event_not_found: 'There is no such event, or it is past its retention. Check its id.',
    export_not_found: 'There is no such export. Check its id.',
    identity_not_found: 'There is no such identity. Check its id.',
    mcp_key_not_found: 'There is no such MCP key. Check its id.',
    meeting_app_not_found: 'There is no such meeting app. Check its id.',
    meeting_connect_session_not_found: 'There is no such meeting connect session. Check its id or link.',
    meeting_connection_not_found: 'The account is not connected to this meeting service. Connect it first.',
    message_not_found: 'There is no such message. Check its id.',
    oauth_app_not_found: 'There is no such OAuth app. Check its id.',
    org_connection_not_found: 'There is no such organization connection. Check its id.',
    photo_not_found: 'The contact has no photo.',
    provider_not_found: 'The provider no longer has it. The next sync will update the index.',
    scheduling_link_not_found: 'There is no such scheduling link. Check its id.',
    send_not_found: 'There is no such send. Check its id.',
    suppression_entry_not_found: 'The address is not on this list.',
    suppression_list_not_found: 'There is no such suppression list. Check its id.',
    suppression_review_not_found: 'There is no such review, or it is already settled.',
    template_not_found: 'There is no such template. Check its id.',
    thread_not_found: 'There is no such thread. Check its id.',
    webhook_endpoint_not_found: 'There is no such webhook endpoint. Check its id.',
  }),
  ...answering(409, {
    account_disabled: 'The account is disabled. Connect it again to use it.',
    account_exists: 'The mailbox is already connected as an account. Use that account, or delete it first.',
    account_misconfigured: 'The account cannot be reached as it is configured. See its statusReason.',
    account_mismatch:
      "The user signed in to a different mailbox than the account's. Sign in to the same one.",
    account_paused: 'The account is paused. Set its status to active first.',
    account_reauth_required:
      'The provider no longer accepts the grant. Let the user connect the account again.',
    booking_cancelled: 'The booking is already cancelled.',
    calendar_disabled: 'Calendar sync is off for this account. Turn on settings.calendarEnabled first.',
    calendar_primary: 'The primary calendar cannot be deleted.',
    connection_in_use: 'Accounts still use the organization connection. Delete them first.',
    consent_required: 'The directory has not consented yet. Complete the consent first.',
    contacts_disabled: 'Contact sync is off for this account. Turn on settings.contactsEnabled first.',
    directory_unavailable:
      'The directory cannot be listed by this connection. Grant it the permission first.',
    endpoint_disabled: 'The webhook endpoint is disabled. Set isEnabled to true first.',
    export_failed: 'The export failed. Create a new one.',
    export_in_progress: 'Another export of the same scope is still running. Wait until it has finished.',
    export_not_ready: 'The export is not complete yet. Try again after export.completed.',
    export_running: 'The export is still running. Delete it when it has finished.',
    idempotency_key_in_progress:
      'The first request with this Idempotency-Key is still running. Retry a little later.',
    identity_exists: 'The account already has an identity with this address. Change that one.',
    mailbox_protected: 'System and special-use mailboxes cannot be renamed, moved or deleted.',
    mcp_key_limit: 'The account holds 25 live MCP keys. Revoke one first.',
    meeting_app_exists: 'The tenant already has this meeting app. Use that one.',
    meeting_app_in_use: 'Connections still use the meeting app. Delete them first.',
    meeting_deleted: 'The meeting no longer exists at its service. Create a new one.',
    meeting_host_missing: 'The account has no user at the meeting service. Add one there first.',
    meeting_service_not_connected: 'The account is not connected to the meeting service. Connect it first.',
    meeting_service_reauth_required: 'The meeting service no longer accepts the grant. Connect it again.',
    oauth_app_in_use: 'Accounts still use the OAuth app. Delete or reconnect them first.',
    organizer_cannot_respond:
      'The organizer cannot respond to an invitation of their own. Change the event instead.',
    provider_conflict: 'It has been changed elsewhere in the meantime. Read it again and repeat the change.',
    send_not_cancellable: 'The send is on its way or done and cannot be cancelled.',
    send_not_reschedulable: 'The send is on its way or done and cannot be rescheduled.',
    session_used: 'The session has already been used. Create a new one.',
    slot_taken: 'The slot has been taken in the meantime. Choose another one.',
    slot_unavailable: 'The slot is not offered. Choose one of the listed slots.',
    suppression_list_exists: 'A suppression list with this id already exists. Choose another id.',
    suppression_list_not_empty: 'The suppression list has entries. Delete it with withEntries=true.',
    sync_kinds_disabled: 'The account does not sync the kinds in data.kinds. Leave them out or turn them on.',
    template_name_taken: 'A template with this name already exists in the same scope. Choose another name.',
  }),
  ...answering(410, {
    export_expired: 'The export has expired and its file is deleted. Create a new one.',
  }),
  ...answering(413, {
    payload_too_large: 'The body is too large. Send less.',
  }),
  ...answering(422, {
    autodiscovery_failed:
      'No servers were found for the address. Name host and port of the IMAP and SMTP servers.',
    idempotency_key_reused: 'The Idempotency-Key was used for another request. Use a new key.',
    shared_mailbox_inaccessible:
      'The user cannot open the shared mailbox. Ask its administrator for full access.',
    unknown_account: 'There is no such account for an id in data.ids. Remove it.',
    unknown_calendar: 'The calendar does not exist in this account. Name another one.',
    unknown_contact_folder: 'The contact folder does not exist in this account. Name another one.',
    unknown_mailbox: 'There is no such mailbox for an id in data.ids. Remove it.',
    unknown_meeting_app: 'The meeting app does not exist. Name another one.',
    unknown_message: 'The message does not exist in this account. Name another one.',
    unknown_oauth_app: 'The OAuth app does not exist. Name another one.',
    unknown_reply_target: 'The message to reply to does not exist in this account. Name another one.',
    unknown_template: 'The template does not exist. Name another one.',
  }),
  ...answering(429, {
    provider_throttled: 'The provider is limiting requests. Retry after the seconds in Retry-After.',
    rate_limited: 'Too many requests. Retry after the seconds in Retry-After.',
    too_many_requests:
      'This credential has too many requests in progress. Wait for some to finish, then retry.',
  }),
  ...answering(500, {
    export_corrupt: 'The stored export does not match its checksum. Create a new one.',
    internal_error:
      'Something went wrong in the service. Retry, and include the X-Request-Id when you report it.',
  }),
  ...answering(502, {
    ai_suspended: 'AI is suspended for this tenant. Ask the operator.',
    ai_unavailable: 'The language model did not answer. Retry later.',
    draft_lost: 'The provider lost the draft while it was replaced. Repeat the request to recreate it.',
    meeting_service_unavailable: 'The meeting service did not answer. Retry later.',
    provider_unavailable: 'The provider did not answer or failed. Retry later.',
  }),
  ...answering(503, {
    overloaded: 'The service is overloaded. Retry after the seconds in Retry-After; nothing was done.',
  }),
}

export type Reason = keyof typeof reasons

/** One thing to change in a request. `path` leads to the field; it is empty if the whole request is meant. */
export const issue = z
  .object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })
  .meta({ id: 'Issue' })
export type Issue = z.infer<typeof issue>

const unknownIds = z.object({ ids: z.array(z.string()) })
const templateField = z.object({ field: z.enum(['subject', 'html', 'text', 'previewText']) })

/** Schemas of `data` of an error, for the reasons that have it. */
const reasonData = {
  invalid_input: z.object({ issues: z.array(issue) }),
  unknown_account: unknownIds,
  unknown_mailbox: unknownIds,
  invalid_template: templateField,
  template_render_failed: templateField,
  invalid_recurrence: z.object({ issues: z.array(issue) }),
  sync_kinds_disabled: z.object({ kinds: z.array(z.string()) }),
} satisfies Partial<Record<Reason, z.ZodType>>

export type ReasonData = { [R in keyof typeof reasonData]: z.infer<(typeof reasonData)[R]> }

/** The schema of a reason's `data`; undefined if the error has none. */
export function dataSchemaOf(reason: Reason): z.ZodType | undefined {
  return Object.hasOwn(reasonData, reason) ? reasonData[reason as keyof typeof reasonData] : undefined
}

/** Reasons that any operation can answer with. */
export const COMMON_REASONS = [
  'invalid_input',
  'unauthenticated',
  'api_key_expired',
  'missing_scope',
  'role_forbidden',
  'account_token_forbidden',
  'account_scope_forbidden',
  'mcp_only_key',
  'payload_too_large',
  'rate_limited',
  'too_many_requests',
  'internal_error',
  'overloaded',
] as const satisfies Reason[]
export type CommonReason = (typeof COMMON_REASONS)[number]

/** Reasons that any hosted operation can answer, besides that its session is unknown. */
export const HOSTED_REASONS = [
  'invalid_input',
  'session_expired',
  'session_used',
  'payload_too_large',
  'rate_limited',
  'too_many_requests',
  'internal_error',
  'overloaded',
] as const satisfies Reason[]

/** Reasons that any POST with a credential can answer as well. */
export const IDEMPOTENCY_REASONS = [
  'invalid_idempotency_key',
  'idempotency_key_in_progress',
  'idempotency_key_reused',
] as const satisfies Reason[]

/** Whether a word is a reason. */
export function isReason(word: string): word is Reason {
  return Object.hasOwn(reasons, word)
}

function answering<const M extends Record<string, string>>(status: number, messages: M) {
  const entries = Object.entries(messages).map(([reason, message]) => [reason, { status, message }] as const)
  // Object.fromEntries loses the names, which are the purpose of the table.
  return Object.fromEntries(entries) as { [R in keyof M]: { status: number; message: string } }
}
