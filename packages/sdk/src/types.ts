// Made by scripts/sdk.ts from the OpenAPI document. Do not edit.
import type { Call, Download, List } from './call.ts'
import type { CallOptions, ConditionalOptions, PostOptions } from './options.ts'

/** The methods of a client, by section. */
export interface Operations {
  accounts: {
    /**
     * List accounts, newest first.
     *
     * Filters are combined with AND. A key that is bound to accounts lists only those.
     *
     * Scope: `read`. Reasons: `invalid_cursor`.
     */
    list(input?: AccountsListInput, options?: CallOptions): List<AccountPage>
    /**
     * Connect a mailbox with a refresh token.
     *
     * The provider names the mailbox, and the address of the account is that. A newer refresh token that it sends replaces the given one. An account of the same user that is `reauth_required` or `disabled` gets the new grant, unless another `externalRef` than its own is named; otherwise the answer is `account_exists`. If the token does not allow calendars or contacts, they are turned off for the account; if `settings` turns them on, it is refused with `scope_missing`. A token that does not allow shared mailboxes connects nevertheless.
     *
     * Scope: `write`. Reasons: `access_token_rejected`, `account_exists`, `billing_past_due`, `cloud_required`, `honeypot_needs_click_tracking`, `invalid_client`, `invalid_grant`, `not_microsoft`, `oauth_app_mismatch`, `oauth_app_secret_unreadable`, `plan_limit_accounts`, `plan_limit_storage`, `plan_module_unavailable`, `provider_forbidden`, `provider_not_configured`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `storage_unavailable`, `token_exchange_failed`, `unknown_oauth_app`.
     */
    connect(input: AccountsConnectInput, options?: PostOptions): Call<Account>
    /**
     * Read an account.
     *
     * Scope: `read`. Reasons: `account_not_found`.
     */
    get(input: AccountsGetInput, options?: CallOptions): Call<Account>
    /**
     * Change, pause or resume an account.
     *
     * Only the fields that are present change. `settings` is merged into the account’s own settings; `resetSettings` names settings that follow the tenant’s again. The account syncs again if its effective `bodyStorage`, `calendarEnabled` or `syncWindowDays` changes. Calendars and contacts for which the user gave no permission cannot be turned on (`scope_missing`). `sharedMailboxesEnabled` takes effect when the user signs in again. An account leaves `reauth_required` and `disabled` only with a new grant.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_not_found`, `account_reauth_required`, `honeypot_needs_click_tracking`, `plan_limit_storage`, `plan_module_unavailable`, `provider_unsupported`, `scope_missing`, `storage_unavailable`.
     */
    update(input: AccountsUpdateInput, options?: CallOptions): Call<Account>
    /**
     * Delete an account.
     *
     * Its credentials are removed and its tokens revoked at once. The indexed data is purged after 30 days. With `purge=true` it is purged soon after the request, also if the account was deleted earlier. The mailbox at the provider is not touched and can be connected again at once.
     *
     * Scope: `write`. Reasons: `account_not_found`.
     */
    delete(input: AccountsDeleteInput, options?: CallOptions): Call<null>
    /**
     * Request a sync pass now.
     *
     * At most one pass per kind is queued; a request during a pass queues one more. At most 30 requests a minute per account. An account that is not active is synced when it becomes active.
     *
     * Scope: `write`. Reasons: `account_not_found`, `sync_kinds_disabled`.
     */
    sync(input: AccountsSyncInput, options?: PostOptions): Call<RequestedSync>
    /**
     * Create a short-lived token for this account only.
     *
     * The token ends when the account is deleted, or when the key that created it is revoked or expires. If the key loses a scope, its tokens lose it too. A repeated request with the same `Idempotency-Key` needs a credential that has the token’s scopes.
     *
     * Scope: `write`. Reasons: `account_not_found`.
     */
    createToken(input: AccountsCreateTokenInput, options?: PostOptions): Call<AccountToken>
    /**
     * Connect an IMAP mailbox with a password.
     *
     * The service logs in to both servers before it stores anything. If a server is left out, it is searched for as `GET /v1/autoconfig` does; if none is found, the request is refused with `autodiscovery_failed`. `smtp: null` connects an account that only reads. With `dav` it logs in to the servers of calendars and contacts as well.
     *
     * Scope: `write`. Reasons: `account_exists`, `autodiscovery_failed`, `billing_past_due`, `dav_discovery_failed`, `dav_unsupported`, `honeypot_needs_click_tracking`, `login_failed`, `not_dav_server`, `plaintext_not_allowed`, `plan_limit_accounts`, `plan_limit_storage`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `server_not_allowed`, `storage_unavailable`.
     */
    createImap(input: AccountsCreateImapInput, options?: PostOptions): Call<Account>
    /**
     * Change the servers or the password of an IMAP account.
     *
     * The service first logs in with the changed servers or password; if that fails, nothing changes. If no password is given, it uses the stored one, but never with a host other than the one it was stored for: a new `host` without a password is refused with `password_required`. A server is replaced as a whole, except that it keeps its `user` if none is given. A `password` that logs in is a new grant: the account leaves `reauth_required` and `disabled`. If the servers are changed by another request meanwhile, the answer is `provider_conflict`. Calendars or contacts that are removed, or whose server is another one, leave the index.
     *
     * Scope: `write`. Reasons: `account_not_found`, `dav_discovery_failed`, `dav_unsupported`, `login_failed`, `not_dav_server`, `not_imap_account`, `oauth_servers_fixed`, `password_not_stored`, `password_required`, `password_unsupported`, `plaintext_not_allowed`, `provider_conflict`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `server_not_allowed`.
     */
    updateImapSettings(input: AccountsUpdateImapSettingsInput, options?: CallOptions): Call<Account>
  }
  auditLog: {
    /**
     * List who changed what, newest first.
     *
     * Every request that may change something has one entry, whatever it was answered, unless its credential or rate limit refused it. Reads, answers with status 401, 429 or 503, and repeated answers of an `Idempotency-Key` have none. Entries are kept for 400 days. Filters are combined with AND.
     *
     * Scope: `admin`. Reasons: `invalid_cursor`, `invalid_range`.
     */
    list(input?: AuditLogListInput, options?: CallOptions): List<AuditEntryPage>
  }
  autoconfig: {
    /**
     * Find the mail servers of an address.
     *
     * Searches for at most 10 seconds, in this order: the list of known providers, the autoconfig address of the domain, the ISPDB, the SRV records and the MX records of the domain. It does not log in. Servers that the service may not connect to are left out.
     *
     * Scope: `read`. Reasons: `autodiscovery_failed`.
     */
    find(input: AutoconfigFindInput, options?: CallOptions): Call<Autoconfig>
  }
  availability: {
    /**
     * Find the busy times and free slots of an account.
     *
     * Busy are events that are shown as busy, tentative, out of office or unknown, also those of whole days; not those that are free or working elsewhere, cancelled, or declined by the account. Slots start on a grid: at the start of each range of `hours`, or at local midnight, and then every `stepMinutes`. A slot lies within one range of `hours` and within [start, end). Its buffers may reach out of both. Read from the index; only attendees are asked live. While the first sync of the calendars is not complete, the account is unresolved and no slot is offered.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_not_found`, `account_paused`, `account_reauth_required`, `calendar_disabled`, `invalid_range`, `invalid_time_zone`, `invalid_working_hours`, `plan_module_unavailable`, `unknown_calendar`.
     */
    find(input: AvailabilityFindInput, options?: PostOptions): Call<AccountAvailability>
    /**
     * Find slots in which several accounts are free.
     *
     * Busy are events that are shown as busy, tentative, out of office or unknown, also those of whole days; not those that are free or working elsewhere, cancelled, or declined by the account. Slots start on a grid: at the start of each range of `hours`, or at local midnight, and then every `stepMinutes`. A slot lies within one range of `hours` and within [start, end). Its buffers may reach out of both. An account that is not active, whose calendars are off, or whose first sync of them is not complete, is unresolved: it is never among the accounts of a slot, and is in the way only with `requireAll`. If all accounts are unresolved, there are no slots. Attendees must be free in both modes.
     *
     * Scope: `read`. Reasons: `invalid_range`, `invalid_time_zone`, `invalid_working_hours`, `plan_module_unavailable`, `unknown_account`, `unknown_calendar`.
     */
    findShared(input: AvailabilityFindSharedInput, options?: PostOptions): Call<SharedAvailability>
  }
  calendarEvents: {
    /**
     * List what takes place in a range of time.
     *
     * Singles, occurrences of series, and exceptions that overlap the range, in the order of their starts; a series itself is not listed. Read from the index, which holds the past 90 and the next 365 days unless the operator has set another window; what of the range lies outside of it has no events. An event without length is in the range if it starts in it.
     *
     * Scope: `read`. Reasons: `account_not_found`, `calendar_disabled`, `invalid_cursor`, `invalid_range`, `plan_module_unavailable`, `unknown_calendar`.
     */
    list(input: CalendarEventsListInput, options?: CallOptions): List<CalendarEventPage>
    /**
     * Create a calendar event, or a series.
     *
     * Written to the provider, then to the index. The account organizes the event, and its own addresses are left out of `attendees`. What the provider cannot hold is refused with `provider_unsupported`, and nothing is written then.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `billing_past_due`, `calendar_disabled`, `calendar_read_only`, `invalid_range`, `invalid_recurrence`, `invalid_time_zone`, `mixed_event_times`, `multiple_meeting_options`, `plan_limit_sends`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `unknown_calendar`.
     */
    create(input: CalendarEventsCreateInput, options?: PostOptions): Call<CalendarEventWithBody>
    /**
     * Get a calendar event with its body.
     *
     * A single, a series, an occurrence of it, or an exception.
     *
     * Scope: `read`. Reasons: `account_not_found`, `calendar_disabled`, `calendar_event_not_found`, `plan_module_unavailable`.
     */
    get(input: CalendarEventsGetInput, options?: CallOptions): Call<CalendarEventWithBody>
    /**
     * Change a calendar event.
     *
     * Fields that are present change; null clears. The id chooses the target: a single, a whole series, or one occurrence. From an occurrence, `scope` widens it: `following` splits the series there and answers the new series, `series` changes and answers the whole series. `start` and `end` of an occurrence are its own in each scope; the series moves by the difference. An account that does not organize the event may change `showAs`, `sensitivity`, `reminderMinutes` and `calendarId`.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `billing_past_due`, `calendar_disabled`, `calendar_event_not_found`, `calendar_read_only`, `invalid_range`, `invalid_recurrence`, `invalid_time_zone`, `mixed_event_times`, `multiple_meeting_options`, `plan_limit_sends`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `recurrence_on_instance`, `scope_missing`, `unknown_calendar`.
     */
    update(input: CalendarEventsUpdateInput, options?: CallOptions): Call<CalendarEventWithBody>
    /**
     * Delete a calendar event.
     *
     * The target is chosen as in PATCH. `scope=following` ends the series before the occurrence. An account that does not organize it deletes the account’s own copy and, with `notify`, declines.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `billing_past_due`, `calendar_disabled`, `calendar_event_not_found`, `calendar_read_only`, `plan_limit_sends`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    delete(input: CalendarEventsDeleteInput, options?: CallOptions): Call<null>
    /**
     * Answer an invitation.
     *
     * The id chooses the event, the whole series, or one occurrence. Where the provider removes a declined event from the calendar, the answer is its last state, and `calendar_event.deleted` follows.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `billing_past_due`, `calendar_disabled`, `calendar_event_not_found`, `calendar_read_only`, `organizer_cannot_respond`, `plan_limit_sends`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    respond(input: CalendarEventsRespondInput, options?: PostOptions): Call<CalendarEventWithBody>
  }
  calendars: {
    /**
     * List the calendars of an account.
     *
     * Returns all calendars in one answer, the primary one first, hidden ones too.
     *
     * Scope: `read`. Reasons: `account_not_found`, `calendar_disabled`, `plan_module_unavailable`.
     */
    list(input: CalendarsListInput, options?: CallOptions): Call<CalendarCollection>
    /**
     * Create a calendar.
     *
     * Created at the provider, then in the index. What the provider cannot hold is refused with `provider_unsupported`; it may store another color that is near, which is answered.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `calendar_disabled`, `invalid_time_zone`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    create(input: CalendarsCreateInput, options?: PostOptions): Call<Calendar>
    /**
     * Change a calendar.
     *
     * Fields that are present change, and null clears them where the provider can.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `calendar_disabled`, `calendar_not_found`, `calendar_read_only`, `invalid_time_zone`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    update(input: CalendarsUpdateInput, options?: CallOptions): Call<Calendar>
    /**
     * Delete a calendar with its events.
     *
     * `calendar.deleted` announces it; its events are not announced. Only an owner may, and never the primary calendar.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `calendar_disabled`, `calendar_not_found`, `calendar_primary`, `calendar_read_only`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    delete(input: CalendarsDeleteInput, options?: CallOptions): Call<null>
  }
  changes: {
    /**
     * List changes, oldest first.
     *
     * Without a cursor, the feed starts at the oldest event that is still kept. An empty page means that you have read everything: ask again later with `nextCursor`, which is never null. With `types`, a page can be short although more events follow. If the database was restored to an earlier state, cursors from before the restore are refused with `invalid_cursor`: start again without a cursor, and compare your data with the lists.
     *
     * Scope: `read`. Reasons: `invalid_cursor`.
     */
    list(input?: ChangesListInput, options?: CallOptions): Call<ChangeEventPage>
  }
  connectSessions: {
    /**
     * Create a link by which a user connects a mailbox.
     *
     * Send the user to `url`. Whoever has it can connect one mailbox, so treat it as a secret. At the end the browser goes to `redirectUri` with `status=success&account_id=…` or `status=error&error=…`, and `state` if one was given; without a `redirectUri` it stays on a page that says how it ended.
     *
     * Scope: `write`. Reasons: `cloud_required`, `honeypot_needs_click_tracking`, `not_microsoft`, `oauth_app_mismatch`, `org_connection_account`, `plan_limit_storage`, `plan_module_unavailable`, `provider_not_allowed`, `provider_not_configured`, `provider_unsupported`, `redirect_uri_not_allowed`, `shared_mailbox_account`, `storage_unavailable`, `unknown_account`, `unknown_oauth_app`.
     */
    create(input?: ConnectSessionsCreateInput, options?: PostOptions): Call<ConnectLink>
    /**
     * Read how a connect session ended.
     *
     * Sessions are kept for 30 days.
     *
     * Scope: `read`. Reasons: `connect_session_not_found`.
     */
    get(input: ConnectSessionsGetInput, options?: CallOptions): Call<ConnectSession>
    /**
     * Create a link by which a user signs in with one provider.
     *
     * Send the user’s browser to `authorizeUrl`, which works for one hour. Pages of your own offer the choice; this one only asks the user to continue to the provider. The return to `redirectUri` is the only answer.
     *
     * Scope: `write`. Reasons: `cloud_required`, `honeypot_needs_click_tracking`, `not_microsoft`, `oauth_app_mismatch`, `org_connection_account`, `plan_limit_storage`, `plan_module_unavailable`, `provider_not_allowed`, `provider_not_configured`, `provider_unsupported`, `redirect_uri_not_allowed`, `shared_mailbox_account`, `storage_unavailable`, `unknown_account`, `unknown_oauth_app`.
     */
    authorize(input: ConnectSessionsAuthorizeInput, options?: PostOptions): Call<OAuthAuthorization>
  }
  contactFolders: {
    /**
     * List the contact folders of an account.
     *
     * Returns all folders in one answer, the default one first: address books, or folders of Microsoft. Empty for an account whose provider has none.
     *
     * Scope: `read`. Reasons: `account_not_found`, `contacts_disabled`, `plan_module_unavailable`.
     */
    list(input: ContactFoldersListInput, options?: CallOptions): Call<ContactFolderCollection>
  }
  contacts: {
    /**
     * List or search the contacts of an account.
     *
     * Read from the index, in the order of the display name without regard to case; a contact without one stands by its given and family name, its organization, or its first address.
     *
     * Scope: `read`. Reasons: `account_not_found`, `contacts_disabled`, `invalid_cursor`, `plan_module_unavailable`, `unknown_contact_folder`.
     */
    list(input: ContactsListInput, options?: CallOptions): List<ContactPage>
    /**
     * Create a contact.
     *
     * Written to the provider, then to the index. A contact needs a name, an organization, an email address or a phone number. What the provider cannot hold is refused with `provider_unsupported`.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `contact_unidentifiable`, `contacts_disabled`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `unknown_contact_folder`.
     */
    create(input: ContactsCreateInput, options?: PostOptions): Call<Contact>
    /**
     * Get a contact.
     *
     * Scope: `read`. Reasons: `account_not_found`, `contact_not_found`, `contacts_disabled`, `plan_module_unavailable`.
     */
    get(input: ContactsGetInput, options?: CallOptions): Call<Contact>
    /**
     * Change a contact.
     *
     * Fields that are present change, and null clears them. `emails` and `phones` replace the whole list; labels and other properties of what stays in it are kept at the provider, like everything that is not shown here.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `contact_not_found`, `contact_unidentifiable`, `contacts_disabled`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    update(input: ContactsUpdateInput, options?: CallOptions): Call<Contact>
    /**
     * Delete a contact.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `contact_not_found`, `contacts_disabled`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    delete(input: ContactsDeleteInput, options?: CallOptions): Call<null>
    /**
     * Download the photo of a contact.
     *
     * The bytes as the provider stores them, up to 5 MiB. They are fetched on the first request and kept until the photo changes. Content that is not a plain image, such as SVG, is `photo_not_found`.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `contact_not_found`, `contacts_disabled`, `photo_not_found`, `plan_module_unavailable`, `provider_forbidden`, `provider_not_found`, `provider_throttled`, `provider_unavailable`.
     */
    photo(input: ContactsPhotoInput, options?: CallOptions): Call<Download>
  }
  drafts: {
    /**
     * Create a draft.
     *
     * Takes the fields of a send, none of them required, and files the draft in the mailbox of drafts, which is created if there is none. Attachments that are named by reference are copied now.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `attachments_too_large`, `from_not_allowed`, `invalid_template`, `params_too_large`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `template_account_mismatch`, `template_and_inline_fields`, `template_render_failed`, `unknown_message`, `unknown_reply_target`, `unknown_template`.
     */
    create(input: DraftsCreateInput, options?: PostOptions): Call<Message>
    /**
     * Replace the content of a draft.
     *
     * Replaces everything, also in a draft that another client wrote. The draft keeps its `id`, its Message-ID, its References and its thread. To keep an attachment, name it by the draft’s own `id` and its `attachmentId`. `sign` defaults to false here, since the text may have the signature already. After `draft_lost` the draft is readable for 24 hours; repeating the request creates it at the provider again.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `attachments_too_large`, `draft_lost`, `draft_not_found`, `from_not_allowed`, `invalid_template`, `not_a_draft`, `params_too_large`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `template_account_mismatch`, `template_and_inline_fields`, `template_render_failed`, `unknown_message`, `unknown_reply_target`, `unknown_template`.
     */
    replace(input: DraftsReplaceInput, options?: ConditionalOptions): Call<Message>
    /**
     * Delete a draft.
     *
     * Removes it for good, without Trash. What was sent of it before is not affected.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `draft_not_found`, `not_a_draft`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    delete(input: DraftsDeleteInput, options?: ConditionalOptions): Call<null>
    /**
     * Send a draft.
     *
     * Takes what the draft says now, whoever wrote it, and answers as soon as it is stored and will be sent. Later changes of the draft do not change what is sent. Once it is sent, the draft is removed if it still says the same; cancelling leaves it. While one send of a draft is `queued` or `sending`, another one is refused with `provider_conflict`.
     *
     * Scope: `send`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `attachments_too_large`, `billing_past_due`, `draft_not_found`, `from_not_allowed`, `list_send_recipients`, `list_unsubscribe_unavailable`, `no_recipients`, `not_a_draft`, `plan_limit_sends`, `plan_module_unavailable`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `suppressed`, `tracking_unsupported`.
     */
    send(input: DraftsSendInput, options?: PostOptions & ConditionalOptions): Call<OutboxEntry>
  }
  hostedConnectSessions: {
    /**
     * Read what a connect session offers.
     *
     * For a page of your own in place of the hosted one. The token is the only credential.
     *
     * Scope: `none`. Reasons: `connect_session_not_found`, `session_expired`, `session_used`.
     */
    get(input: HostedConnectSessionsGetInput, options?: CallOptions): Call<HostedConnectSession>
    /**
     * Connect an IMAP mailbox with a password, and end the session.
     *
     * The service logs in to both servers before it stores anything. A login that fails is `login_failed`, whatever the cause, and the session goes on: 5 tries a session, 20 an hour for a client address. A reconnect replaces the passwords only; servers that are sent are ignored. Once the mailbox has been logged in to, the answer is a `redirectUrl`, which says if the mailbox could not be connected nevertheless.
     *
     * Scope: `none`. Reasons: `account_mismatch`, `autodiscovery_failed`, `connect_session_not_found`, `login_failed`, `plaintext_not_allowed`, `provider_conflict`, `provider_not_allowed`, `provider_unsupported`, `session_expired`, `session_used`.
     */
    connectImap(input: HostedConnectSessionsConnectImapInput, options?: CallOptions): Call<ConnectRedirect>
    /**
     * Find the mail servers of an address.
     *
     * Searches as `GET /v1/autoconfig` does, at most 30 times a session.
     *
     * Scope: `none`. Reasons: `autodiscovery_failed`, `connect_session_not_found`, `session_expired`, `session_used`.
     */
    findServers(input: HostedConnectSessionsFindServersInput, options?: CallOptions): Call<Autoconfig>
  }
  identities: {
    /**
     * List the addresses that the account may send from.
     *
     * Returns all identities in one answer: the account’s own address first, then those that the provider offers (Gmail) or that were added here, oldest first. The provider’s list is read when it is a day old. Works in any status of the account; one that cannot be reached answers what was read last.
     *
     * Scope: `read`. Reasons: `account_not_found`.
     */
    list(input: IdentitiesListInput, options?: CallOptions): Call<IdentityCollection>
    /**
     * Add an address that the account may send from.
     *
     * Whether the server accepts the address shows when a message is sent. Addresses are compared in lower case. Indexed messages from the address become `outbound` soon afterwards, each announced by `message.updated`. At most 100 identities can be added, with signatures of 10 MiB together.
     *
     * Scope: `write`. Reasons: `account_not_found`, `identities_managed_by_provider`, `identity_exists`.
     */
    create(input: IdentitiesCreateInput, options?: PostOptions): Call<Identity>
    /**
     * Change the name or the signature of an identity.
     *
     * Only the fields that are present change. The name of the account’s own address is its `displayName` and cannot be changed here.
     *
     * Scope: `write`. Reasons: `account_not_found`, `identity_not_custom`, `identity_not_found`, `identity_unavailable`.
     */
    update(input: IdentitiesUpdateInput, options?: CallOptions): Call<Identity>
    /**
     * Delete an identity that was added.
     *
     * Messages that were sent from it become `inbound` unless they are in a mailbox of sent mail, each announced by `message.updated`.
     *
     * Scope: `write`. Reasons: `account_not_found`, `identity_not_custom`, `identity_not_found`.
     */
    delete(input: IdentitiesDeleteInput, options?: CallOptions): Call<null>
  }
  integrity: {
    /**
     * Show whether the index holds what the provider holds.
     *
     * Once a day, each mailbox is listed at the provider, and the messages and flags within the sync window are compared with the index, and so are the versions of the events of each calendar and the contacts of each folder. A difference is repaired by an ordinary sync, announced like any change, and compared again. With `refresh=true` a comparison of everything begins now, and the answer shows the last one; it is complete once `comparedAt` is later than the request. Refreshing counts towards the 30 requests a minute for a sync of the account, and needs an active account.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_not_found`, `account_paused`, `account_reauth_required`.
     */
    get(input: IntegrityGetInput, options?: CallOptions): Call<AccountIntegrity>
  }
  mailMerges: {
    /**
     * Send a message to each of up to 1,000 recipients.
     *
     * Each entry becomes a message of its own in the outbox. All of them are queued together, or none. An entry that cannot be sent is reported by its item and does not stop the others; what is wrong with the shared fields refuses the whole. Other sends of the account go before entries that wait.
     *
     * Scope: `send`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `attachments_too_large`, `billing_past_due`, `from_not_allowed`, `invalid_template`, `list_unsubscribe_unavailable`, `plan_module_unavailable`, `provider_forbidden`, `provider_not_found`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `template_account_mismatch`, `template_and_inline_fields`, `tracking_unsupported`, `unknown_message`, `unknown_template`.
     */
    create(input: MailMergesCreateInput, options?: PostOptions): Call<MailMerge>
  }
  mailSettings: {
    /**
     * Read the mail settings of an account.
     *
     * Scope: `read`. Reasons: `account_not_found`.
     */
    get(input: MailSettingsGetInput, options?: CallOptions): Call<MailSettings>
    /**
     * Change the mail settings of an account.
     *
     * Only the fields that are present change.
     *
     * Scope: `write`. Reasons: `account_not_found`.
     */
    update(input: MailSettingsUpdateInput, options?: CallOptions): Call<MailSettings>
  }
  mailboxes: {
    /**
     * List the mailboxes of an account.
     *
     * Returns all mailboxes in one answer, parents before children.
     *
     * Scope: `read`. Reasons: `account_not_found`.
     */
    list(input: MailboxesListInput, options?: CallOptions): Call<MailboxCollection>
    /**
     * Create a mailbox.
     *
     * Creates it at the provider and subscribes to it. It is indexed and announced (`mailbox.created`) before the answer.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `mailbox_parent`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `unknown_mailbox`.
     */
    create(input: MailboxesCreateInput, options?: PostOptions): Call<Mailbox>
    /**
     * Rename or move a mailbox.
     *
     * Mailboxes below it, and subscriptions, follow. Each mailbox whose path changes is announced by one `mailbox.updated`. Only mailboxes with the role `custom` can be renamed or moved.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `mailbox_parent`, `mailbox_protected`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `unknown_mailbox`.
     */
    update(input: MailboxesUpdateInput, options?: CallOptions): Call<Mailbox>
    /**
     * Delete a mailbox with its messages.
     *
     * A label of Gmail is removed and its messages stay. A mailbox with other mailboxes below it is refused with `provider_rejected`. The mailbox leaves the index at once; its messages leave with the next sync.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `mailbox_protected`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `unknown_mailbox`.
     */
    delete(input: MailboxesDeleteInput, options?: CallOptions): Call<null>
  }
  messages: {
    /**
     * List messages, newest first.
     *
     * Only messages within the sync window. Filters are combined with AND.
     *
     * Scope: `read`. Reasons: `account_not_found`, `invalid_cursor`, `invalid_range`, `unknown_mailbox`.
     */
    list(input: MessagesListInput, options?: CallOptions): List<MessageSummaryPage>
    /**
     * Read a message with its body.
     *
     * With `bodyStorage` `cache` or `full`, the message is read from storage; if it is not stored yet, it is read from the provider and stored. With `none`, and for drafts, it is always read from the provider. A message over 50 MiB has neither body nor attachments here. One with more than 1,000 parts or 64 levels has no body, and its list of attachments ends at that limit. `raw` always returns the whole message. A draft is answered with an `ETag`.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `message_not_found`, `provider_forbidden`, `provider_not_found`, `provider_throttled`, `provider_unavailable`.
     */
    get(input: MessagesGetInput, options?: CallOptions): Call<Message>
    /**
     * Mark or move a message.
     *
     * Absent fields stay. The provider is changed first, flags before the move; if the move then fails, its error is answered and the flags are changed, indexed and announced. One `message.updated` names what changed. A message keeps its `id` when it moves.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `mailbox_not_label`, `message_not_found`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `unknown_mailbox`.
     */
    update(input: MessagesUpdateInput, options?: CallOptions): Call<MessageSummary>
    /**
     * Move a message to Trash, or delete it for good.
     *
     * A message that is in Trash already stays there. A Trash mailbox that the provider lacks is created.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `message_not_found`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`.
     */
    delete(input: MessagesDeleteInput, options?: CallOptions): Call<null>
    /**
     * Download a message in its original format (RFC 5322).
     *
     * Sent in chunks, without Content-Length.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `message_not_found`, `provider_forbidden`, `provider_not_found`, `provider_throttled`, `provider_unavailable`.
     */
    raw(input: MessagesRawInput, options?: CallOptions): Call<Download>
    /**
     * Download an attachment.
     *
     * The content is decoded and sent in chunks, without Content-Length; the attachment’s `size` is the number of its bytes. The Content-Type is the sender’s if browsers do not run that type, otherwise `application/octet-stream`.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `message_not_found`, `provider_forbidden`, `provider_not_found`, `provider_throttled`, `provider_unavailable`.
     */
    attachment(input: MessagesAttachmentInput, options?: CallOptions): Call<Download>
  }
  oauthApps: {
    /**
     * List the tenant’s OAuth apps, newest first.
     *
     * A tenant has at most 100. The apps of the operator are not listed.
     *
     * Scope: `admin`.
     */
    list(input?: Record<string, never>, options?: CallOptions): Call<OAuthAppCollection>
    /**
     * Add an OAuth app that users sign in with.
     *
     * Nothing is tried: a wrong secret shows at the first sign-in. An app of Microsoft belongs to one cloud, by default the global one, and proves itself by a secret or by a certificate with its private key.
     *
     * Scope: `admin`. Reasons: `credential_conflict`, `credential_mismatch`, `credential_missing`, `gmail_push_unsupported`, `invalid_certificate`, `not_microsoft`, `push_unavailable`.
     */
    create(input: OauthAppsCreateInput, options?: PostOptions): Call<OAuthApp>
    /**
     * Read an OAuth app.
     *
     * Scope: `admin`. Reasons: `oauth_app_not_found`.
     */
    get(input: OauthAppsGetInput, options?: CallOptions): Call<OAuthApp>
    /**
     * Change an OAuth app.
     *
     * Only the fields that are present change; a certificate and its key are given together. A new secret or certificate takes effect at once, and accounts that could not be reached for want of a valid one are tried again. New `scopes` count from the next sign-in of each user. `gmailPush: null` ends pushes.
     *
     * Scope: `admin`. Reasons: `credential_conflict`, `credential_mismatch`, `credential_missing`, `gmail_push_unsupported`, `invalid_certificate`, `not_microsoft`, `oauth_app_not_found`, `push_unavailable`.
     */
    update(input: OauthAppsUpdateInput, options?: CallOptions): Call<OAuthApp>
    /**
     * Delete an OAuth app.
     *
     * An app that accounts signed in with is refused with `oauth_app_in_use`: delete them first.
     *
     * Scope: `admin`. Reasons: `oauth_app_in_use`, `oauth_app_not_found`.
     */
    delete(input: OauthAppsDeleteInput, options?: CallOptions): Call<null>
  }
  /**
   * Read this document.
   *
   * Scope: `none`.
   */
  openapi(input?: Record<string, never>, options?: CallOptions): Call<Record<string, unknown>>
  outbox: {
    /**
     * List queued and recent sends, newest first.
     *
     * Entries are kept for 30 days after their end. Filters are combined with AND.
     *
     * Scope: `read`. Reasons: `account_not_found`, `invalid_cursor`, `invalid_range`.
     */
    list(input: OutboxListInput, options?: CallOptions): List<OutboxEntryPage>
    /**
     * Send a message.
     *
     * Answers as soon as the message is stored and will be sent, whatever happens to the service. What becomes of it is told by the entry and by the events `send.sent`, `send.retrying` and `send.failed`. Attachments that are named by reference are read now, so later changes of their messages do not matter.
     *
     * Scope: `send`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `attachments_too_large`, `billing_past_due`, `from_not_allowed`, `invalid_template`, `list_send_recipients`, `list_unsubscribe_unavailable`, `no_recipients`, `params_too_large`, `plan_limit_sends`, `plan_module_unavailable`, `provider_forbidden`, `provider_not_found`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `suppressed`, `template_account_mismatch`, `template_and_inline_fields`, `template_render_failed`, `tracking_unsupported`, `unknown_message`, `unknown_reply_target`, `unknown_template`.
     */
    create(input: OutboxCreateInput, options?: PostOptions): Call<OutboxEntry>
    /**
     * Read one send.
     *
     * With `waitSeconds`, the answer waits until the send is `sent`, `failed` or `cancelled`.
     *
     * Scope: `read`. Reasons: `account_not_found`, `send_not_found`.
     */
    get(input: OutboxGetInput, options?: CallOptions): Call<OutboxEntry>
    /**
     * Change when a queued message is sent.
     *
     * Works as long as `status` is `queued`, also between two attempts.
     *
     * Scope: `send`. Reasons: `account_not_found`, `send_not_found`, `send_not_reschedulable`.
     */
    reschedule(input: OutboxRescheduleInput, options?: CallOptions): Call<OutboxEntry>
    /**
     * Cancel a queued send.
     *
     * Works as long as `status` is `queued`, also between two attempts.
     *
     * Scope: `send`. Reasons: `account_not_found`, `send_not_cancellable`, `send_not_found`.
     */
    cancel(input: OutboxCancelInput, options?: CallOptions): Call<null>
    /**
     * Send a message that was held after a restore.
     *
     * After the database was restored to an earlier state, what was due may have been sent before, and becomes `failed` with the reason `outcome_unknown`. This queues it again: `sendAt` becomes now, and it is not counted again for the day. If its copy was found meanwhile, it is `sent`. Works only for what was held so, never for what had been handed over.
     *
     * Scope: `send`. Reasons: `account_not_found`, `send_not_found`, `send_not_reschedulable`.
     */
    release(input: OutboxReleaseInput, options?: PostOptions): Call<OutboxEntry>
  }
  search: {
    /**
     * Search messages.
     *
     * The index supports words, "quoted phrases", OR between two terms and -word. It searches subject, names, addresses and text, and returns the best matches first. The provider gets `q` unchanged and returns the newest messages first. A page can hold fewer than `limit` results although `nextCursor` is not null.
     *
     * Scope: `read`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `invalid_cursor`, `invalid_range`, `provider_forbidden`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `unknown_mailbox`.
     */
    messages(input: SearchMessagesInput, options?: CallOptions): List<SearchPage>
  }
  settings: {
    /**
     * Read the tenant’s settings.
     *
     * Scope: `read`.
     */
    get(input?: Record<string, never>, options?: CallOptions): Call<TenantSettings>
    /**
     * Change the tenant’s settings.
     *
     * Only the fields that are present change; the same holds for the keys of `mcpSendPolicy`. An account without its own value for a setting follows the tenant’s. `account.updated` is announced for each account whose effective settings change. An account syncs again if its `bodyStorage`, `calendarEnabled` or `syncWindowDays` changes.
     *
     * Scope: `admin`. Reasons: `honeypot_needs_click_tracking`, `plan_limit_storage`, `storage_unavailable`.
     */
    update(input?: SettingsUpdateInput, options?: CallOptions): Call<TenantSettings>
  }
  sharedMailboxes: {
    /**
     * Add a shared mailbox that an account can open.
     *
     * Makes an account of a mailbox that others share with the user of this one, its delegate. It is reached with the grant of the delegate, which needs the permissions that `sharedMailboxesEnabled` asks for. A shared mailbox that is an account already is opened by this delegate from now on, and becomes active unless it is paused; the fields that are sent replace its own. A mailbox that signs in for itself is refused with `account_exists`.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_exists`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `billing_past_due`, `honeypot_needs_click_tracking`, `org_connection_account`, `plan_limit_accounts`, `plan_limit_storage`, `plan_module_unavailable`, `provider_throttled`, `provider_unavailable`, `scope_missing`, `shared_mailbox_account`, `shared_mailbox_inaccessible`, `shared_mailbox_unsupported`, `storage_unavailable`.
     */
    add(input: SharedMailboxesAddInput, options?: PostOptions): Call<Account>
  }
  suppressionReviews: {
    /**
     * List detected opt-outs that wait for a person, newest first.
     *
     * While `optOutHandling` is `review`, replies that ask for no more mail wait here; while it is `suppress`, those that are not certain. Automatic replies saying that the person left the address wait in both cases, on the global list.
     *
     * Scope: `read`. Reasons: `invalid_cursor`.
     */
    list(input?: SuppressionReviewsListInput, options?: CallOptions): List<SuppressionReviewPage>
    /**
     * Put the address of a review on its list.
     *
     * Announces `suppression.created` if the address was not listed. The review is removed.
     *
     * Scope: `write`. Reasons: `suppression_review_not_found`.
     */
    approve(input: SuppressionReviewsApproveInput, options?: PostOptions): Call<ApprovedSuppression>
    /**
     * Remove a review without suppressing its address.
     *
     * A later detection queues it again.
     *
     * Scope: `write`. Reasons: `suppression_review_not_found`.
     */
    dismiss(input: SuppressionReviewsDismissInput, options?: PostOptions): Call<null>
  }
  suppressions: {
    /**
     * List the suppression lists.
     *
     * Returns all lists in one answer: the global one first, then the others by their `id`.
     *
     * Scope: `read`.
     */
    list(input?: Record<string, never>, options?: CallOptions): Call<SuppressionListCollection>
    /**
     * Create a suppression list.
     *
     * A send or an addition that names a missing list creates it too, named after its `id`. A tenant has at most 1,000 lists besides the global one.
     *
     * Scope: `write`. Reasons: `suppression_list_exists`.
     */
    create(input: SuppressionsCreateInput, options?: PostOptions): Call<SuppressionList>
    /**
     * Change the name or the description of a suppression list.
     *
     * Only the fields that are present change. The global list cannot be changed.
     *
     * Scope: `write`. Reasons: `suppression_list_not_found`.
     */
    update(input: SuppressionsUpdateInput, options?: CallOptions): Call<SuppressionList>
    /**
     * Delete a suppression list.
     *
     * Deletes its waiting reviews too. Later sends that name it create an empty list of that id. The global list cannot be deleted.
     *
     * Scope: `write`. Reasons: `suppression_list_not_empty`, `suppression_list_not_found`.
     */
    delete(input: SuppressionsDeleteInput, options?: CallOptions): Call<null>
    /**
     * List the addresses of a suppression list, newest first.
     *
     * Filters are combined with AND. A filtered page looks through 50,000 addresses at most, so it may have few items or none although `nextCursor` says that more follow.
     *
     * Scope: `read`. Reasons: `invalid_cursor`, `suppression_list_not_found`.
     */
    listEntries(input: SuppressionsListEntriesInput, options?: CallOptions): List<SuppressionEntryPage>
    /**
     * Suppress addresses.
     *
     * A repeated address counts once. Addresses that are listed already stay as they are. If one is no address, none is added. A missing list is created. `suppression.created` is not announced.
     *
     * Scope: `write`. Reasons: `suppression_list_not_found`.
     */
    addEntries(input: SuppressionsAddEntriesInput, options?: PostOptions): Call<AddedSuppressions>
    /**
     * Take an address off a suppression list.
     *
     * Later sends reach it again, unless another list that they consult has it.
     *
     * Scope: `write`. Reasons: `suppression_entry_not_found`, `suppression_list_not_found`.
     */
    deleteEntry(input: SuppressionsDeleteEntryInput, options?: CallOptions): Call<null>
  }
  templateRenders: {
    /**
     * Render a template as a send would.
     *
     * Stores and sends nothing. Takes a stored template, or the fields of one. `{{account.…}}` is the account of `accountId`, else that of the template; `{{rcpt.…}}` is empty.
     *
     * Scope: `read`. Reasons: `invalid_template`, `params_too_large`, `template_account_mismatch`, `template_and_inline_fields`, `template_render_failed`, `unknown_account`, `unknown_template`.
     */
    create(input?: TemplateRendersCreateInput, options?: PostOptions): Call<RenderedTemplate>
  }
  templates: {
    /**
     * List templates, newest first.
     *
     * Returns them without their content. Filters are combined with AND.
     *
     * Scope: `read`. Reasons: `invalid_cursor`.
     */
    list(input?: TemplatesListInput, options?: CallOptions): List<TemplateSummaryPage>
    /**
     * Create a template.
     *
     * Every field must compile as Handlebars. The helpers are `if`, `unless`, `each`, `with` and `lookup`; there are no partials and no decorators.
     *
     * Scope: `write`. Reasons: `invalid_template`, `template_name_taken`, `unknown_account`.
     */
    create(input: TemplatesCreateInput, options?: PostOptions): Call<Template>
    /**
     * Read a template with its content.
     *
     * Scope: `read`. Reasons: `template_not_found`.
     */
    get(input: TemplatesGetInput, options?: CallOptions): Call<Template>
    /**
     * Change a template.
     *
     * Only the fields that are present change. Messages that were queued before keep what they were rendered with.
     *
     * Scope: `write`. Reasons: `invalid_template`, `template_name_taken`, `template_not_found`.
     */
    update(input: TemplatesUpdateInput, options?: CallOptions): Call<Template>
    /**
     * Delete a template.
     *
     * Messages that were queued before keep what they were rendered with.
     *
     * Scope: `write`. Reasons: `template_not_found`.
     */
    delete(input: TemplatesDeleteInput, options?: CallOptions): Call<null>
  }
  threads: {
    /**
     * List threads, latest activity first.
     *
     * Only messages within the sync window count. With `mailboxId`, the list has the threads with a message in that mailbox, sorted by their latest message there; each summary still describes the whole thread.
     *
     * Scope: `read`. Reasons: `account_not_found`, `invalid_cursor`, `unknown_mailbox`.
     */
    list(input: ThreadsListInput, options?: CallOptions): List<ThreadSummaryPage>
    /**
     * Read a thread with its messages, oldest first.
     *
     * Scope: `read`. Reasons: `account_not_found`, `thread_not_found`.
     */
    get(input: ThreadsGetInput, options?: CallOptions): Call<Thread>
    /**
     * Mark or move all messages of a thread.
     *
     * Messages that are in that state already are skipped. A failure part way leaves the messages before it changed; repeating the request finishes the rest.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `thread_not_found`, `unknown_mailbox`.
     */
    update(input: ThreadsUpdateInput, options?: CallOptions): Call<Thread>
    /**
     * Move all messages of a thread to Trash.
     *
     * Messages that are in Trash already stay there. A failure part way leaves the messages before it moved; repeating the request finishes the rest.
     *
     * Scope: `write`. Reasons: `account_disabled`, `account_misconfigured`, `account_not_found`, `account_paused`, `account_reauth_required`, `provider_conflict`, `provider_forbidden`, `provider_not_found`, `provider_rejected`, `provider_throttled`, `provider_unavailable`, `provider_unsupported`, `scope_missing`, `thread_not_found`.
     */
    delete(input: ThreadsDeleteInput, options?: CallOptions): Call<null>
  }
  tracking: {
    /**
     * Read the opens and clicks of a send.
     *
     * What came is judged after ten seconds and shown then. The same open or click of the same client within 30 seconds counts once. After 1,000 opens and clicks of a send only the counts grow.
     *
     * Scope: `read`. Reasons: `account_not_found`, `send_not_found`.
     */
    get(input: TrackingGetInput, options?: CallOptions): Call<SendTracking>
  }
  usage: {
    /**
     * Read the plan, its limits, and what is used.
     *
     * Without `from` and `to`, the days are the last 30, today included. `from` alone runs to today; `to` alone means the 30 days that end with it. A range has at most 366 days. Usage is kept for 400 days.
     *
     * Scope: `read`. Reasons: `invalid_range`.
     */
    get(input?: UsageGetInput, options?: CallOptions): Call<UsageReport>
  }
  webhookDeliveries: {
    /**
     * List the attempts of a webhook endpoint, newest first.
     *
     * Of the last 500 attempts within 7 days, those that match. Filters are combined with AND. A cursor is valid while its attempt can be read.
     *
     * Scope: `read`. Reasons: `invalid_cursor`, `invalid_range`, `webhook_endpoint_not_found`.
     */
    listAttempts(input: WebhookDeliveriesListAttemptsInput, options?: CallOptions): List<WebhookAttemptPage>
    /**
     * Deliver the events of a range again.
     *
     * Queues every event of the range that passes the current filters, also events from before the endpoint was created, with the same id and body. Events past the retention cannot be replayed.
     *
     * Scope: `write`. Reasons: `endpoint_disabled`, `invalid_range`, `replay_range_too_large`, `webhook_endpoint_not_found`.
     */
    replay(input: WebhookDeliveriesReplayInput, options?: PostOptions): Call<ReplayedEvents>
    /**
     * Deliver one event again.
     *
     * Filters do not apply.
     *
     * Scope: `write`. Reasons: `endpoint_disabled`, `event_not_found`, `webhook_endpoint_not_found`.
     */
    replayEvent(input: WebhookDeliveriesReplayEventInput, options?: PostOptions): Call<ReplayedEvents>
    /**
     * Count the events that a webhook endpoint gave up on.
     *
     * Counts events that are still retained and were not queued again.
     *
     * Scope: `read`. Reasons: `invalid_range`, `webhook_endpoint_not_found`.
     */
    countFailedDeliveries(input: WebhookDeliveriesCountFailedDeliveriesInput, options?: CallOptions): Call<FailedDeliveryCount>
    /**
     * Deliver again what a webhook endpoint gave up on.
     *
     * Queues each of these events once. The replays replace the failed deliveries.
     *
     * Scope: `write`. Reasons: `endpoint_disabled`, `invalid_range`, `replay_range_too_large`, `webhook_endpoint_not_found`.
     */
    replayFailed(input: WebhookDeliveriesReplayFailedInput, options?: PostOptions): Call<ReplayedEvents>
  }
  webhooks: {
    /**
     * List the webhook endpoints, newest first.
     *
     * Returns all endpoints in one answer.
     *
     * Scope: `read`.
     */
    list(input?: Record<string, never>, options?: CallOptions): Call<WebhookEndpointCollection>
    /**
     * Create a webhook endpoint.
     *
     * Every event that happens from now on and passes the filters is posted to the URL. Without a limit of the plan, a tenant has at most 1,000 endpoints.
     *
     * Scope: `write`. Reasons: `https_required`, `mailbox_outside_accounts`, `plan_limit_webhooks`, `server_not_allowed`, `unknown_account`, `unknown_mailbox`.
     */
    create(input: WebhooksCreateInput, options?: PostOptions): Call<CreatedWebhookEndpoint>
    /**
     * Change a webhook endpoint.
     *
     * Only the fields that are present change, in `filters` and `filters.message` too; null clears. Filters count for events that happen from now on, a new `url` from the next attempt. Disabling gives up everything that waits, and what happens meanwhile is not queued. A new `url`, and enabling, end every pause.
     *
     * Scope: `write`. Reasons: `https_required`, `mailbox_outside_accounts`, `server_not_allowed`, `unknown_account`, `unknown_mailbox`, `webhook_endpoint_not_found`.
     */
    update(input: WebhooksUpdateInput, options?: CallOptions): Call<WebhookEndpoint>
    /**
     * Delete a webhook endpoint.
     *
     * Deletes its deliveries and attempts too. An attempt that is under way may still arrive.
     *
     * Scope: `write`. Reasons: `webhook_endpoint_not_found`.
     */
    delete(input: WebhooksDeleteInput, options?: CallOptions): Call<null>
    /**
     * Replace the secret of a webhook endpoint.
     *
     * Deliveries are signed with the new secret at once, and during the grace period also with the one that it replaces. A rotation during a grace period ends that period.
     *
     * Scope: `write`. Reasons: `webhook_endpoint_not_found`.
     */
    rotateSecret(input: WebhooksRotateSecretInput, options?: PostOptions): Call<RotatedWebhookSecret>
    /**
     * Send a test event to a webhook endpoint.
     *
     * Queues one event with `isTest: true` for this endpoint, whatever its filters. It is tried once, and is never in the change feed.
     *
     * Scope: `write`. Reasons: `endpoint_disabled`, `unknown_account`, `webhook_endpoint_not_found`.
     */
    test(input: WebhooksTestInput, options?: PostOptions): Call<WebhookTest>
  }
}

/** The reasons that operations may answer today. */
export type Reason = "access_token_rejected" | "account_disabled" | "account_exists" | "account_misconfigured" | "account_mismatch" | "account_not_found" | "account_paused" | "account_reauth_required" | "account_scope_forbidden" | "account_token_forbidden" | "api_key_expired" | "attachments_too_large" | "autodiscovery_failed" | "billing_past_due" | "calendar_disabled" | "calendar_event_not_found" | "calendar_not_found" | "calendar_primary" | "calendar_read_only" | "cloud_required" | "connect_session_not_found" | "contact_not_found" | "contact_unidentifiable" | "contacts_disabled" | "credential_conflict" | "credential_mismatch" | "credential_missing" | "dav_discovery_failed" | "dav_unsupported" | "draft_lost" | "draft_not_found" | "endpoint_disabled" | "event_not_found" | "from_not_allowed" | "gmail_push_unsupported" | "honeypot_needs_click_tracking" | "https_required" | "idempotency_key_in_progress" | "idempotency_key_reused" | "identities_managed_by_provider" | "identity_exists" | "identity_not_custom" | "identity_not_found" | "identity_unavailable" | "internal_error" | "invalid_certificate" | "invalid_client" | "invalid_cursor" | "invalid_grant" | "invalid_idempotency_key" | "invalid_input" | "invalid_range" | "invalid_recurrence" | "invalid_template" | "invalid_time_zone" | "invalid_working_hours" | "list_send_recipients" | "list_unsubscribe_unavailable" | "login_failed" | "mailbox_not_label" | "mailbox_outside_accounts" | "mailbox_parent" | "mailbox_protected" | "mcp_only_key" | "message_not_found" | "missing_scope" | "mixed_event_times" | "multiple_meeting_options" | "no_recipients" | "not_a_draft" | "not_dav_server" | "not_imap_account" | "not_microsoft" | "oauth_app_in_use" | "oauth_app_mismatch" | "oauth_app_not_found" | "oauth_app_secret_unreadable" | "oauth_servers_fixed" | "org_connection_account" | "organizer_cannot_respond" | "overloaded" | "params_too_large" | "password_not_stored" | "password_required" | "password_unsupported" | "payload_too_large" | "photo_not_found" | "plaintext_not_allowed" | "plan_limit_accounts" | "plan_limit_sends" | "plan_limit_storage" | "plan_limit_webhooks" | "plan_module_unavailable" | "provider_conflict" | "provider_forbidden" | "provider_not_allowed" | "provider_not_configured" | "provider_not_found" | "provider_rejected" | "provider_throttled" | "provider_unavailable" | "provider_unsupported" | "push_unavailable" | "rate_limited" | "recurrence_on_instance" | "redirect_uri_not_allowed" | "replay_range_too_large" | "role_forbidden" | "scope_missing" | "send_not_cancellable" | "send_not_found" | "send_not_reschedulable" | "server_not_allowed" | "session_expired" | "session_used" | "shared_mailbox_account" | "shared_mailbox_inaccessible" | "shared_mailbox_unsupported" | "storage_unavailable" | "suppressed" | "suppression_entry_not_found" | "suppression_list_exists" | "suppression_list_not_empty" | "suppression_list_not_found" | "suppression_review_not_found" | "sync_kinds_disabled" | "template_account_mismatch" | "template_and_inline_fields" | "template_name_taken" | "template_not_found" | "template_render_failed" | "thread_not_found" | "token_exchange_failed" | "too_many_requests" | "tracking_unsupported" | "unauthenticated" | "unknown_account" | "unknown_calendar" | "unknown_contact_folder" | "unknown_mailbox" | "unknown_message" | "unknown_oauth_app" | "unknown_reply_target" | "unknown_template" | "webhook_endpoint_not_found"

/** The `data` of errors, for reasons that have some. */
export interface ReasonData {
  invalid_input: {
    issues: Issue[]
  }
  invalid_recurrence: {
    issues: Issue[]
  }
  invalid_template: {
    field: "subject" | "html" | "text" | "previewText" | (string & {})
  }
  sync_kinds_disabled: {
    kinds: string[]
  }
  template_render_failed: {
    field: "subject" | "html" | "text" | "previewText" | (string & {})
  }
  unknown_account: {
    ids: string[]
  }
  unknown_mailbox: {
    ids: string[]
  }
}

/** The `data` of events, by type. */
export interface EventData {
  "account.connected": {
    email: string
    provider: "gmail" | "graph" | "imap" | (string & {})
    cloud: MicrosoftCloud | null
    externalRef: string | null
    reauthorized: boolean
  }
  "account.deleted": {
    email: string
    externalRef: string | null
  }
  "account.initialized": {
    mailboxes: number
    messages: number
  }
  "account.purged": {
    accountId: string
    externalRef: string | null
  }
  "account.reauth_required": {
    email: string
    provider: "gmail" | "graph" | "imap" | (string & {})
    externalRef: string | null
    reason: string
  }
  "account.updated": {
    account: Account
    changes: string[]
  }
  "booking.cancelled": {
    booking: Booking
  }
  "booking.created": {
    booking: Booking
  }
  "calendar.created": {
    calendar: Calendar
  }
  "calendar.deleted": {
    /** As last indexed. */
    calendar: Calendar
  }
  "calendar.initialized": {
    calendars: number
    events: number
  }
  "calendar.updated": {
    calendar: Calendar
    changes: ("name" | "description" | "owner" | "isPrimary" | "access" | "canEdit" | "color" | "timeZone" | "isHidden" | (string & {}))[]
  }
  "calendar_event.created": {
    event: CalendarEvent
  }
  "calendar_event.deleted": {
    /** As last indexed. */
    event: CalendarEvent
  }
  "calendar_event.updated": {
    event: CalendarEvent
    changes: ("calendarId" | "kind" | "seriesId" | "originalStart" | "subject" | "snippet" | "location" | "start" | "end" | "isAllDay" | "organizer" | "attendees" | "isOrganizer" | "selfResponse" | "status" | "showAs" | "sensitivity" | "onlineMeetingUrl" | "onlineMeetingProvider" | "iCalUid" | "recurrence" | "recurrenceTimeZone" | "cancelledStarts" | "categories" | "hasAttachments" | "reminderMinutes" | "webLink" | "updatedAt" | (string & {}))[]
  }
  "contact.created": {
    contact: Contact
  }
  "contact.deleted": {
    /** As last indexed. */
    contact: Contact
  }
  "contact.updated": {
    contact: Contact
    changes: ("folderId" | "displayName" | "givenName" | "middleName" | "familyName" | "nickname" | "organization" | "jobTitle" | "department" | "emails" | "phones" | "birthday" | "notes" | "hasPhoto" | (string & {}))[]
  }
  "contacts.initialized": {
    folders: number
    contacts: number
  }
  "export.completed": {
    export: Export
  }
  "export.failed": {
    export: Export
  }
  "mailbox.created": {
    mailbox: Mailbox
  }
  "mailbox.deleted": {
    mailbox: Mailbox
  }
  "mailbox.updated": {
    mailbox: Mailbox
    changes: ("name" | "path" | "parentId" | "role" | "kind" | (string & {}))[]
  }
  "meeting_connection.connected": {
    connection: MeetingConnection
  }
  "meeting_connection.reauth_required": {
    connection: MeetingConnection
  }
  "message.bounced": {
    outboxId: string
    /** The sent copy; null while none is indexed. */
    messageId: string | null
    reference: string | null
    /** `hard`: the addresses take no mail. `soft`: another message may get through. */
    bounceType: "hard" | "soft" | (string & {})
    recipients: ({
      /** As it was sent to. */
      address: string
      /** Enhanced status code (RFC 3463), such as `5.1.1`. */
      status: string
      /** Text of the refusing server; may be empty. */
      diagnostic: string
    })[]
  }
  "message.classified": {
    message: MessageSummary
    mailboxes: MailboxReference[]
    classification: Classification
  }
  "message.clicked": {
    outboxId: string
    /** The copy in the mailbox of sent mail; null while none is indexed. */
    messageId: string | null
    reference: string | null
    /** Null where the send has more than one. */
    recipient: string | null
    url: string
    /** Whether it was a program rather than a person. */
    isMachine: boolean
    machineReason: "prefetch" | "scanner" | "honeypot" | "burst" | (string & {}) | null
    /** Null unless the operator turned addresses on. */
    ip: string | null
    userAgent: string | null
  }
  "message.created": {
    message: MessageSummary
    mailboxes: MailboxReference[]
  }
  "message.deleted": {
    message: MessageSummary
    mailboxes: MailboxReference[]
  }
  "message.opened": {
    outboxId: string
    /** The copy in the mailbox of sent mail; null while none is indexed. */
    messageId: string | null
    reference: string | null
    /** Null where the send has more than one. */
    recipient: string | null
    /** Whether it was a program rather than a person. */
    isMachine: boolean
    machineReason: "prefetch" | "scanner" | "honeypot" | "burst" | (string & {}) | null
    /** Null unless the operator turned addresses on. */
    ip: string | null
    userAgent: string | null
  }
  "message.updated": {
    message: MessageSummary
    mailboxes: MailboxReference[]
    changes: ("threadId" | "internetMessageId" | "mailboxIds" | "subject" | "from" | "to" | "cc" | "snippet" | "receivedAt" | "sentAt" | "isRead" | "isFlagged" | "isDraft" | "hasAttachments" | "categories" | "direction" | "outboxId" | "reference" | "importance" | (string & {}))[]
  }
  "send.failed": {
    outbox: OutboxEntry
    error: SendError
  }
  "send.rescheduled": {
    outbox: OutboxEntry
  }
  "send.retrying": {
    outbox: OutboxEntry
    error: SendError
  }
  "send.sent": {
    outbox: OutboxEntry
  }
  "suppression.created": {
    listId: string
    address: string
    /** `unsubscribe`: by the link of a message. `bounce`: the address does not exist. `reply`: asked for in a reply. `complaint`: reported as spam. `inactive`: the person left the address. `api`: added here. */
    source: SuppressionSource
    reason: string
    /** The send that caused it; null if none did. */
    outboxId: string | null
  }
  "webhook.test": {
    message: string
  }
}

export interface AccountsListInput {
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
  /**
   * Exact match.
   * From 1 to 255 characters.
   */
  externalRef?: string
  /**
   * Part of the email address or `externalRef`. Case does not matter.
   * From 1 to 200 characters.
   */
  q?: string
  /** Only accounts with this status. */
  status?: "active" | "paused" | "reauth_required" | "disabled"
  /** Only accounts of this organization connection. */
  orgConnectionId?: string
  /** Only shared mailboxes that are opened by this account. */
  delegateAccountId?: string
}

export interface AccountsConnectInput {
  provider: OAuthProviderGiven
  /** Microsoft only. */
  microsoftCloud?: MicrosoftCloudGiven
  /**
   * Issued by the provider to the OAuth app that is used here, with permission to read and change mail.
   * From 1 to 8192 characters.
   */
  refreshToken: string
  /** The OAuth app to which the refresh token was issued. Default: the tenant’s oldest app of the provider and cloud, else the operator’s. */
  oauthAppId?: string
  /**
   * Your own identifier for the account, such as the id of your user.
   * At most 255 characters.
   */
  externalRef?: string | null
  settings?: AccountSettingsInput
}

export interface AccountsGetInput {
  /** The account’s `id`. */
  accountId: string
}

export interface AccountsUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * Your own identifier for the account, such as the id of your user.
   * At most 255 characters.
   */
  externalRef?: string | null
  /** `paused` stops syncing, `active` resumes it. */
  status?: "active" | "paused"
  settings?: AccountSettingsInput
  /**
   * Settings that follow the tenant’s value again.
   * At most 20 items.
   */
  resetSettings?: ("bodyStorage" | "syncWindowDays" | "calendarEnabled" | "contactsEnabled" | "undoSendSeconds" | "trackOpens" | "trackClicks" | "trackingHoneypot")[]
}

export interface AccountsDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * Purge the indexed data soon, not after 30 days.
   * Default: `false`.
   */
  purge?: boolean
}

export interface AccountsSyncInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * Default: every kind that is enabled for the account.
   * From 1 to 20 items.
   */
  kinds?: ("mail" | "calendar" | "contacts")[]
}

export interface AccountsCreateTokenInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * Lifetime of the token in seconds. It ends earlier if its key expires earlier.
   * From 60 to 86400.
   * Default: `3600`.
   */
  ttlSeconds?: number
  /**
   * Scopes of the token, on this account only. Default: the scopes of the key that creates it. A scope that the key lacks is refused with `missing_scope`.
   * From 1 to 4 items.
   */
  scopes?: ("read" | "write" | "send" | "admin")[]
}

export interface AccountsCreateImapInput {
  /** At most 320 characters. */
  email: string
  /** At most 255 characters. */
  displayName?: string | null
  /**
   * Your own identifier for the account, such as the id of your user.
   * At most 255 characters.
   */
  externalRef?: string | null
  settings?: AccountSettingsInput
  /** From 1 to 1024 characters. */
  password: string
  /**
   * Only if it differs from `password`.
   * From 1 to 1024 characters.
   */
  smtpPassword?: string
  imap?: MailServerInput
  /** Null connects an account that only reads. */
  smtp?: MailServerInput | null
  /**
   * Set to false if the server itself saves a copy of what it sends.
   * Default: `true`.
   */
  appendSent?: boolean
  /** The servers of calendars and contacts. `{}` looks for both: as `GET /v1/autoconfig` does, then at the IMAP host. The halves that are found are switched on unless `settings` name them. */
  dav?: {
    /**
     * An https URL of the CalDAV server. Absent: it is looked for. Null: no calendars.
     * From 1 to 2000 characters.
     */
    calendarUrl?: string | null
    /**
     * An https URL of the CardDAV server. Absent: it is looked for. Null: no contacts.
     * From 1 to 2000 characters.
     */
    contactsUrl?: string | null
    /**
     * Default: the user of the IMAP server.
     * From 1 to 320 characters.
     */
    user?: string
    /** Default: `password` if one is sent here, otherwise `imap_password`. */
    auth?: "imap_password" | "password"
    /**
     * Only with `auth` `password`.
     * From 1 to 1024 characters.
     */
    password?: string
  } | null
}

export interface AccountsUpdateImapSettingsInput {
  /** The account’s `id`. */
  accountId: string
  imap?: MailServerInput
  /** Null removes the SMTP server. */
  smtp?: MailServerInput | null
  /** From 1 to 1024 characters. */
  password?: string
  /**
   * Null makes the SMTP login use `password` again.
   * From 1 to 1024 characters.
   */
  smtpPassword?: string | null
  appendSent?: boolean
  /** Absent fields stay; null removes calendars and contacts. A stored password goes to another domain only if it is sent again. */
  dav?: {
    /**
     * An https URL of the CalDAV server. Absent: it is looked for. Null: no calendars.
     * From 1 to 2000 characters.
     */
    calendarUrl?: string | null
    /**
     * An https URL of the CardDAV server. Absent: it is looked for. Null: no contacts.
     * From 1 to 2000 characters.
     */
    contactsUrl?: string | null
    /**
     * Default: the user of the IMAP server.
     * From 1 to 320 characters.
     */
    user?: string
    /** Default: `password` if one is sent here, otherwise `imap_password`. */
    auth?: "imap_password" | "password"
    /**
     * Only with `auth` `password`.
     * From 1 to 1024 characters.
     */
    password?: string
  } | null
}

export interface AuditLogListInput {
  /** Only entries of actors of this type. */
  actorType?: "user" | "apiKey" | "accountToken" | "connectSession" | "mcpKey" | "invitee" | "operator"
  /** Only entries of this key, user or session. */
  actorId?: string
  /**
   * The whole action, or its resource with the dot: `account.` finds `account.create`.
   * From 1 to 100 characters.
   */
  action?: string
  /** Only entries with this account among their `targets`. */
  accountId?: string
  /** Whether the answer had a status from 200 to 299. */
  outcome?: "success" | "failure"
  /**
   * Only entries from this time on.
   * A time (RFC 3339).
   */
  from?: string
  /**
   * Only entries before this time.
   * A time (RFC 3339).
   */
  to?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface AutoconfigFindInput {
  /**
   * The address whose servers to find.
   * At most 320 characters.
   */
  email: string
}

export interface AvailabilityFindInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * The beginning of the range, inside the window of the index.
   * A time (RFC 3339).
   */
  start: string
  /**
   * The end of the range, at most 62 days later and inside the window.
   * A time (RFC 3339).
   */
  end: string
  /**
   * Length of a slot.
   * From 5 to 1440.
   * Default: `30`.
   */
  durationMinutes?: number
  /**
   * Minutes from the start of one slot to the start of the next. Slots may overlap.
   * From 5 to 1440.
   * Default: `30`.
   */
  stepMinutes?: number
  /**
   * IANA name of the zone of `hours`. Without `hours`, slots are counted from its midnights (UTC).
   * From 1 to 64 characters.
   */
  timeZone?: string
  /** The hours in which a slot must lie. They need a `timeZone`. Default: all hours. */
  hours?: WorkingHours
  /**
   * Minutes before a slot that must be free as well.
   * From 0 to 1440.
   * Default: `0`.
   */
  bufferBeforeMinutes?: number
  /**
   * Minutes after a slot that must be free as well.
   * From 0 to 1440.
   * Default: `0`.
   */
  bufferAfterMinutes?: number
  /**
   * Addresses of others who must be free. Their providers are asked now, for at most 10 seconds.
   * At most 50 items.
   * Default: `[]`.
   */
  attendees?: string[]
  /**
   * Whether no slot is offered while an account or an attendee is unresolved. Otherwise these do not count.
   * Default: `false`.
   */
  requireAll?: boolean
  /**
   * Only events of these calendars count. Default, also for an account of which none is named: its primary calendar, and every other calendar that it owns and that is not hidden.
   * From 1 to 500 items.
   */
  calendarIds?: string[]
  /**
   * Whether the answer explains why slots are missing.
   * Default: `false`.
   */
  explain?: boolean
}

export interface AvailabilityFindSharedInput {
  /**
   * The beginning of the range, inside the window of the index.
   * A time (RFC 3339).
   */
  start: string
  /**
   * The end of the range, at most 62 days later and inside the window.
   * A time (RFC 3339).
   */
  end: string
  /**
   * Length of a slot.
   * From 5 to 1440.
   * Default: `30`.
   */
  durationMinutes?: number
  /**
   * Minutes from the start of one slot to the start of the next. Slots may overlap.
   * From 5 to 1440.
   * Default: `30`.
   */
  stepMinutes?: number
  /**
   * IANA name of the zone of `hours`. Without `hours`, slots are counted from its midnights (UTC).
   * From 1 to 64 characters.
   */
  timeZone?: string
  /** The hours in which a slot must lie. They need a `timeZone`. Default: all hours. */
  hours?: WorkingHours
  /**
   * Minutes before a slot that must be free as well.
   * From 0 to 1440.
   * Default: `0`.
   */
  bufferBeforeMinutes?: number
  /**
   * Minutes after a slot that must be free as well.
   * From 0 to 1440.
   * Default: `0`.
   */
  bufferAfterMinutes?: number
  /**
   * Addresses of others who must be free. Their providers are asked now, for at most 10 seconds.
   * At most 50 items.
   * Default: `[]`.
   */
  attendees?: string[]
  /**
   * Whether no slot is offered while an account or an attendee is unresolved. Otherwise these do not count.
   * Default: `false`.
   */
  requireAll?: boolean
  /**
   * Only events of these calendars count. Default, also for an account of which none is named: its primary calendar, and every other calendar that it owns and that is not hidden.
   * From 1 to 500 items.
   */
  calendarIds?: string[]
  /**
   * Whether the answer explains why slots are missing.
   * Default: `false`.
   */
  explain?: boolean
  /**
   * Repeated ids count once.
   * From 1 to 50 items.
   */
  accountIds: string[]
  /**
   * Whether all accounts must be free for a slot, or one of them is enough.
   * Default: `"all"`.
   */
  mode?: "all" | "any"
}

export interface CalendarEventsListInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * The beginning of the range.
   * A time (RFC 3339).
   */
  start: string
  /**
   * The end of the range, which does not belong to it.
   * A time (RFC 3339).
   */
  end: string
  /** Only events of this calendar. Default: of all, hidden ones too. */
  calendarId?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 500.
   * Default: `100`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface CalendarEventsCreateInput {
  /** The account’s `id`. */
  accountId: string
  calendarId: string
  start: EventTimeInput
  /** The first moment after the event. */
  end: EventTimeInput
  /** At most 255 characters. */
  subject?: string | null
  body?: EventBodyInput | null
  /** At most 255 characters. */
  location?: string | null
  showAs?: "free" | "busy" | "tentative" | "oof" | "working_elsewhere"
  sensitivity?: "normal" | "personal" | "private" | "confidential"
  /**
   * Null: none. Absent in POST: as the calendar has it by default.
   * From 0 to 40320.
   */
  reminderMinutes?: number | null
  /** Whether the provider is to give the event a meeting of its own. */
  onlineMeeting?: boolean
  /**
   * The link to a meeting at another service.
   * From 1 to 2048 characters.
   */
  onlineMeetingUrl?: string | null
  /**
   * At most 500 items.
   * Default: `[]`.
   */
  attendees?: AttendeeInput[]
  /** From 1 to 20 items. */
  recurrence?: string[] | null
  /**
   * Whether the people whom this concerns are told: by the provider, or by mail of the account.
   * Default: `true`.
   */
  notify?: boolean
}

export interface CalendarEventsGetInput {
  /** The account’s `id`. */
  accountId: string
  /** The event’s `id`. */
  eventId: string
}

export interface CalendarEventsUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The event’s `id`. */
  eventId: string
  /** From an occurrence: `this` one (default), it and those `following`, or the whole `series`. The id of a single or a series takes only `series`. */
  scope?: "this" | "following" | "series"
  /** Moves a single or a whole series to another calendar of the account. */
  calendarId?: string
  /** Alone, it moves the event and keeps its length. */
  start?: EventTimeInput
  /** The first moment after the event. */
  end?: EventTimeInput
  /** At most 255 characters. */
  subject?: string | null
  body?: EventBodyInput | null
  /** At most 255 characters. */
  location?: string | null
  showAs?: "free" | "busy" | "tentative" | "oof" | "working_elsewhere"
  sensitivity?: "normal" | "personal" | "private" | "confidential"
  /**
   * Null: none. Absent in POST: as the calendar has it by default.
   * From 0 to 40320.
   */
  reminderMinutes?: number | null
  /** Whether the provider is to give the event a meeting of its own. */
  onlineMeeting?: boolean
  /**
   * The link to a meeting at another service.
   * From 1 to 2048 characters.
   */
  onlineMeetingUrl?: string | null
  /**
   * Replaces the list by address. Attendees who stay keep their responses.
   * At most 500 items.
   */
  attendees?: AttendeeInput[]
  /**
   * Makes a single a series, or replaces rules and dates of one. Null: the first occurrence stays.
   * From 1 to 20 items.
   */
  recurrence?: string[] | null
  /**
   * Whether the people whom this concerns are told: by the provider, or by mail of the account.
   * Default: `true`.
   */
  notify?: boolean
}

export interface CalendarEventsDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The event’s `id`. */
  eventId: string
  /** From an occurrence: `this` one (default), it and those `following`, or the whole `series`. The id of a single or a series takes only `series`. */
  scope?: "this" | "following" | "series"
  /**
   * Whether the people whom this concerns are told: by the provider, or by mail of the account.
   * Default: `true`.
   */
  notify?: boolean
}

export interface CalendarEventsRespondInput {
  /** The account’s `id`. */
  accountId: string
  /** The event’s `id`. */
  eventId: string
  response: "accepted" | "tentative" | "declined"
  /** At most 1000 characters. */
  comment?: string | null
  /**
   * Whether the people whom this concerns are told: by the provider, or by mail of the account.
   * Default: `true`.
   */
  notify?: boolean
}

export interface CalendarsListInput {
  /** The account’s `id`. */
  accountId: string
}

export interface CalendarsCreateInput {
  /** The account’s `id`. */
  accountId: string
  /** From 1 to 100 characters. */
  name: string
  /** At most 2000 characters. */
  description?: string | null
  color?: string | null
  /**
   * An IANA name.
   * From 1 to 255 characters.
   */
  timeZone?: string | null
}

export interface CalendarsUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The calendar’s `id`. */
  calendarId: string
  /** From 1 to 100 characters. */
  name?: string
  /** At most 2000 characters. */
  description?: string | null
  color?: string | null
  /**
   * An IANA name.
   * From 1 to 255 characters.
   */
  timeZone?: string | null
}

export interface CalendarsDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The calendar’s `id`. */
  calendarId: string
}

export interface ChangesListInput {
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * Only events of these types.
   * From 1 to 100 items.
   */
  types?: EventTypeGiven[]
  /** `now` returns no events, only a cursor for the events to come. Ignored if `cursor` is given. */
  start?: "now"
  /**
   * If there is nothing to return, wait this long for the first event.
   * From 0 to 30.
   * Default: `0`.
   */
  waitSeconds?: number
}

export interface ConnectSessionsCreateInput {
  /**
   * Where the user’s browser goes at the end. It must be in `settings.redirectUris`, exactly as it is.
   * From 1 to 2000 characters.
   */
  redirectUri?: string
  /**
   * The providers offered, in this order. Default: all that have an OAuth app.
   * From 1 to 10 items.
   */
  providers?: OAuthProviderGiven[]
  /** Microsoft only. Default: the global one; on a reconnect that of the account. */
  microsoftCloud?: MicrosoftCloudGiven
  /** The OAuth apps to sign in with. Default: on a reconnect that of the account, else the tenant’s oldest app of the provider and cloud, else the operator’s. */
  oauthAppIds?: {
    google?: string
    microsoft?: string
  }
  /**
   * Your own identifier for the account, such as the id of your user.
   * At most 255 characters.
   */
  externalRef?: string | null
  /**
   * The address that the provider’s sign-in suggests.
   * At most 320 characters.
   */
  loginHint?: string
  /**
   * Returned with the user, unchanged.
   * At most 1024 characters.
   */
  state?: string
  /** The account that signs in again. Nothing but its own provider is offered, and `options` are ignored. */
  accountId?: string
  options?: {
    /** The account’s own settings. */
    settings?: AccountSettingsInput
    /** Whether the form for an IMAP mailbox is offered. Default: only if `providers` is left out. */
    passwordImap?: boolean
  }
  /**
   * Seconds for which the link works.
   * From 60 to 86400.
   * Default: `3600`.
   */
  ttlSeconds?: number
}

export interface ConnectSessionsGetInput {
  /** The session’s `id`. */
  sessionId: string
}

export interface ConnectSessionsAuthorizeInput {
  provider: OAuthProviderGiven
  /**
   * Where the user’s browser goes at the end. It must be in `settings.redirectUris`, exactly as it is.
   * From 1 to 2000 characters.
   */
  redirectUri: string
  /** Microsoft only. Default: the global one; on a reconnect that of the account. */
  microsoftCloud?: MicrosoftCloudGiven
  /** The OAuth app to sign in with. Default: as for a connect session. */
  oauthAppId?: string
  /**
   * Your own identifier for the account, such as the id of your user.
   * At most 255 characters.
   */
  externalRef?: string | null
  /**
   * The address that the provider’s sign-in suggests.
   * At most 320 characters.
   */
  loginHint?: string
  /**
   * Returned with the user, unchanged.
   * At most 1024 characters.
   */
  state?: string
  /** The account that signs in again. Nothing but its own provider is offered, and `options` are ignored. */
  accountId?: string
  options?: {
    /** The account’s own settings. */
    settings?: AccountSettingsInput
  }
}

export interface ContactFoldersListInput {
  /** The account’s `id`. */
  accountId: string
}

export interface ContactsListInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * A part of any name, the organization, or an address, without regard to case.
   * From 1 to 200 characters.
   */
  q?: string
  /** Only contacts of this folder. */
  folderId?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 500.
   * Default: `100`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface ContactsCreateInput {
  /** The account’s `id`. */
  accountId: string
  /** Default: the provider’s default folder. */
  folderId?: string
  /** From 1 to 256 characters. */
  displayName?: string | null
  /** From 1 to 256 characters. */
  givenName?: string | null
  /** From 1 to 256 characters. */
  middleName?: string | null
  /** From 1 to 256 characters. */
  familyName?: string | null
  /** From 1 to 256 characters. */
  nickname?: string | null
  /** From 1 to 256 characters. */
  organization?: string | null
  /** From 1 to 256 characters. */
  jobTitle?: string | null
  /** From 1 to 256 characters. */
  department?: string | null
  /** At most 20 items. */
  emails?: ({
    /** At most 320 characters. */
    address: string
    /** Default: `"other"`. */
    type?: "home" | "work" | "other"
  })[] | null
  /** At most 20 items. */
  phones?: ({
    /** From 1 to 256 characters. */
    number: string
    /** Default: `"other"`. */
    type?: "mobile" | "home" | "work" | "main" | "fax" | "pager" | "other"
  })[] | null
  /** `--MM-DD` without a year. */
  birthday?: string | null
  /** At most 10000 characters. */
  notes?: string | null
}

export interface ContactsGetInput {
  /** The account’s `id`. */
  accountId: string
  /** The contact’s `id`. */
  contactId: string
}

export interface ContactsUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The contact’s `id`. */
  contactId: string
  /** From 1 to 256 characters. */
  displayName?: string | null
  /** From 1 to 256 characters. */
  givenName?: string | null
  /** From 1 to 256 characters. */
  middleName?: string | null
  /** From 1 to 256 characters. */
  familyName?: string | null
  /** From 1 to 256 characters. */
  nickname?: string | null
  /** From 1 to 256 characters. */
  organization?: string | null
  /** From 1 to 256 characters. */
  jobTitle?: string | null
  /** From 1 to 256 characters. */
  department?: string | null
  /** At most 20 items. */
  emails?: ({
    /** At most 320 characters. */
    address: string
    /** Default: `"other"`. */
    type?: "home" | "work" | "other"
  })[] | null
  /** At most 20 items. */
  phones?: ({
    /** From 1 to 256 characters. */
    number: string
    /** Default: `"other"`. */
    type?: "mobile" | "home" | "work" | "main" | "fax" | "pager" | "other"
  })[] | null
  /** `--MM-DD` without a year. */
  birthday?: string | null
  /** At most 10000 characters. */
  notes?: string | null
}

export interface ContactsDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The contact’s `id`. */
  contactId: string
}

export interface ContactsPhotoInput {
  /** The account’s `id`. */
  accountId: string
  /** The contact’s `id`. */
  contactId: string
}

export interface DraftsCreateInput {
  /** The account’s `id`. */
  accountId: string
  /** One of the account’s identities. Default: the primary one. Default of `name`: the identity’s. */
  from?: AddressInput | null
  /** At most 500 items. */
  to?: AddressInput[]
  /** At most 500 items. */
  cc?: AddressInput[]
  /**
   * Never shown to any recipient.
   * At most 500 items.
   */
  bcc?: AddressInput[]
  /** At most 10 items. */
  replyTo?: AddressInput[]
  /**
   * Default: that of the message replied to or forwarded, after `Re:` or `Fwd:`.
   * At most 2000 characters.
   */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /** The `id` of a template that gives subject, HTML and text, with the values of `render.params`. It is rendered now. */
  template?: string | null
  /** With `template`: only `params`. Without it: `subject`, `html`, `text` or `previewText` as Handlebars. `subject`, `html` and `text` beside it must then be absent. */
  render?: RenderInput | null
  /**
   * At most 25 MiB together, decoded.
   * At most 100 items.
   */
  attachments?: AttachmentInput[]
  /** At most 50 items. */
  headers?: HeaderInput[]
  importance?: "high" | "normal" | "low" | null
  /** The `id` of the message that this one replies to. */
  inReplyTo?: string | null
  /** The `id` of the message that this one forwards. Its attachments are added. */
  forwardOf?: string | null
  /** Whether to append the identity’s signature. Default: `signByDefault` of the mail settings. */
  sign?: boolean
}

export interface DraftsReplaceInput {
  /** The account’s `id`. */
  accountId: string
  /** The draft’s `id`. */
  messageId: string
  /** One of the account’s identities. Default: the primary one. Default of `name`: the identity’s. */
  from?: AddressInput | null
  /** At most 500 items. */
  to?: AddressInput[]
  /** At most 500 items. */
  cc?: AddressInput[]
  /**
   * Never shown to any recipient.
   * At most 500 items.
   */
  bcc?: AddressInput[]
  /** At most 10 items. */
  replyTo?: AddressInput[]
  /**
   * Default: that of the message replied to or forwarded, after `Re:` or `Fwd:`.
   * At most 2000 characters.
   */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /** The `id` of a template that gives subject, HTML and text, with the values of `render.params`. It is rendered now. */
  template?: string | null
  /** With `template`: only `params`. Without it: `subject`, `html`, `text` or `previewText` as Handlebars. `subject`, `html` and `text` beside it must then be absent. */
  render?: RenderInput | null
  /**
   * At most 25 MiB together, decoded.
   * At most 100 items.
   */
  attachments?: AttachmentInput[]
  /** At most 50 items. */
  headers?: HeaderInput[]
  importance?: "high" | "normal" | "low" | null
  /** The `id` of the message that this one replies to. */
  inReplyTo?: string | null
  /** The `id` of the message that this one forwards. Its attachments are added. */
  forwardOf?: string | null
  /** Whether to append the identity’s signature. Default: `signByDefault` of the mail settings. */
  sign?: boolean
}

export interface DraftsDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The draft’s `id`. */
  messageId: string
}

export interface DraftsSendInput {
  /** The account’s `id`. */
  accountId: string
  /** The draft’s `id`. */
  messageId: string
  /**
   * When to send, at most 365 days ahead. Default: now.
   * A time (RFC 3339).
   */
  sendAt?: string | null
  /**
   * Default: `undoSendSeconds` of the account.
   * From 0 to 60.
   */
  undoSendSeconds?: number
  /** The suppression list that is consulted beside the global one, and that the recipient leaves by the `List-Unsubscribe` link. Needs exactly one recipient, in `to`. A missing list is created. */
  listId?: string | null
  /** Whether to add an image that tells when the message is opened. Default: `trackOpens` of the account. */
  trackOpens?: boolean
  /** Whether the links of the HTML lead over the service, which tells when one is clicked. Default: `trackClicks` of the account. */
  trackClicks?: boolean
  /**
   * Your own identifier for the send.
   * At most 255 characters.
   */
  reference?: string | null
}

export interface HostedConnectSessionsGetInput {
  /**
   * The last part of the session’s `url`.
   * From 1 to 1024 characters.
   */
  token: string
}

export interface HostedConnectSessionsConnectImapInput {
  /**
   * The last part of the session’s `url`.
   * From 1 to 1024 characters.
   */
  token: string
  /** At most 320 characters. */
  email: string
  /** At most 255 characters. */
  displayName?: string | null
  /** From 1 to 1024 characters. */
  password: string
  /**
   * Only if it differs from `password`.
   * From 1 to 1024 characters.
   */
  smtpPassword?: string
  imap?: MailServerInput
  /** Null connects an account that only reads. */
  smtp?: MailServerInput | null
  /**
   * Set to false if the server itself saves a copy of what it sends.
   * Default: `true`.
   */
  appendSent?: boolean
  /** The servers of calendars and contacts. `{}` looks for both: as `GET /v1/autoconfig` does, then at the IMAP host. The halves that are found are switched on unless `settings` name them. */
  dav?: {
    /**
     * An https URL of the CalDAV server. Absent: it is looked for. Null: no calendars.
     * From 1 to 2000 characters.
     */
    calendarUrl?: string | null
    /**
     * An https URL of the CardDAV server. Absent: it is looked for. Null: no contacts.
     * From 1 to 2000 characters.
     */
    contactsUrl?: string | null
    /**
     * Default: the user of the IMAP server.
     * From 1 to 320 characters.
     */
    user?: string
    /** Default: `password` if one is sent here, otherwise `imap_password`. */
    auth?: "imap_password" | "password"
    /**
     * Only with `auth` `password`.
     * From 1 to 1024 characters.
     */
    password?: string
  } | null
}

export interface HostedConnectSessionsFindServersInput {
  /**
   * The last part of the session’s `url`.
   * From 1 to 1024 characters.
   */
  token: string
  /**
   * The address whose servers to find.
   * At most 320 characters.
   */
  email: string
}

export interface IdentitiesListInput {
  /** The account’s `id`. */
  accountId: string
  /** Ask the provider again, at most once a minute. An IMAP server has no list of identities, so it changes nothing. */
  refresh?: boolean
}

export interface IdentitiesCreateInput {
  /** The account’s `id`. */
  accountId: string
  /** At most 256 characters. */
  name?: string | null
  /** At most 320 characters. */
  address: string
  /** Replaces the whole signature: a part that is absent is null. Null removes the signature. */
  signature?: {
    /** At most 100000 characters. */
    html?: string | null
    /** At most 100000 characters. */
    text?: string | null
  } | null
}

export interface IdentitiesUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The identity’s `id`. */
  identityId: string
  /**
   * Custom identities only.
   * At most 256 characters.
   */
  name?: string | null
  /** Replaces the whole signature: a part that is absent is null. Null removes the signature. */
  signature?: {
    /** At most 100000 characters. */
    html?: string | null
    /** At most 100000 characters. */
    text?: string | null
  } | null
}

export interface IdentitiesDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The identity’s `id`. */
  identityId: string
}

export interface IntegrityGetInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * Whether to compare every mailbox, calendar and contact folder now.
   * Default: `false`.
   */
  refresh?: boolean
}

export interface MailMergesCreateInput {
  /** The account’s `id`. */
  accountId: string
  /** One of the account’s identities. Default: the primary one. Default of `name`: the identity’s. */
  from?: AddressInput | null
  /** At most 10 items. */
  replyTo?: AddressInput[]
  /**
   * Default: that of the message replied to or forwarded, after `Re:` or `Fwd:`.
   * At most 2000 characters.
   */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /** The `id` of a template that gives subject, HTML and text, with the values of `render.params`. It is rendered now. */
  template?: string | null
  /** With `template`: only `params`. Without it: `subject`, `html`, `text` or `previewText` as Handlebars. `subject`, `html` and `text` beside it must then be absent. */
  render?: RenderInput | null
  /**
   * At most 25 MiB together, decoded.
   * At most 100 items.
   */
  attachments?: AttachmentInput[]
  /** At most 50 items. */
  headers?: HeaderInput[]
  importance?: "high" | "normal" | "low" | null
  /** Whether to append the identity’s signature. Default: `signByDefault` of the mail settings. */
  sign?: boolean
  /**
   * When to send, at most 365 days ahead. Default: now.
   * A time (RFC 3339).
   */
  sendAt?: string | null
  /**
   * Default: 0.
   * From 0 to 60.
   */
  undoSendSeconds?: number
  /** The suppression list that is consulted beside the global one, and that the recipient leaves by the `List-Unsubscribe` link. Needs exactly one recipient, in `to`. A missing list is created. */
  listId?: string | null
  /** Whether to add an image that tells when the message is opened. Default: `trackOpens` of the account. */
  trackOpens?: boolean
  /** Whether the links of the HTML lead over the service, which tells when one is clicked. Default: `trackClicks` of the account. */
  trackClicks?: boolean
  /**
   * Your own identifier, of each entry without one of its own.
   * At most 255 characters.
   */
  reference?: string | null
  /**
   * Least time between two hand-overs of the merge, in seconds, also after a pause. Each entry’s `sendAt` then shows when it is due. Default: 0.
   * From 0 to 3600.
   */
  intervalSeconds?: number
  /**
   * One message each.
   * From 1 to 1000 items.
   */
  entries: MailMergeEntryInput[]
}

export interface MailSettingsGetInput {
  /** The account’s `id`. */
  accountId: string
}

export interface MailSettingsUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** Whether sends that do not say `sign` get the signature of their identity. Starts false. */
  signByDefault?: boolean
}

export interface MailboxesListInput {
  /** The account’s `id`. */
  accountId: string
}

export interface MailboxesCreateInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * One level, so without `/`, unless the mailbox is a label of Gmail.
   * From 1 to 255 characters.
   */
  name: string
  /** Default: the top level. */
  parentId?: string
}

export interface MailboxesUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The mailbox’s `id`. */
  mailboxId: string
  /**
   * One level, so without `/`, unless the mailbox is a label of Gmail.
   * From 1 to 255 characters.
   */
  name?: string
  /** Null moves it to the top level. */
  parentId?: string | null
}

export interface MailboxesDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The mailbox’s `id`. */
  mailboxId: string
}

export interface MessagesListInput {
  /** The account’s `id`. */
  accountId: string
  /** Default: all mailboxes. */
  mailboxId?: string
  /**
   * Part of the sender’s address or display name.
   * From 1 to 320 characters.
   */
  from?: string
  /**
   * Part of an address or display name in To, Cc or Bcc.
   * From 1 to 320 characters.
   */
  to?: string
  /** `true`: only unread messages; `false`: only read ones. */
  unread?: boolean
  /** `true`: only flagged messages; `false`: only unflagged ones. */
  flagged?: boolean
  /** `true`: only messages with attachments; `false`: only messages without. */
  hasAttachments?: boolean
  /**
   * Received at or after this time.
   * A time (RFC 3339).
   */
  after?: string
  /**
   * Received before this time, which must be later than `after`.
   * A time (RFC 3339).
   */
  before?: string
  /** Never matches messages whose importance is null. */
  importance?: "high" | "normal" | "low"
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface MessagesGetInput {
  /** The account’s `id`. */
  accountId: string
  /** The message’s `id`. */
  messageId: string
}

export interface MessagesUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The message’s `id`. */
  messageId: string
  isRead?: boolean
  isFlagged?: boolean
  /** Moves the message. On Gmail it replaces the labels that act as folders. */
  mailboxId?: string
  /**
   * Labels to add, at most 50. Gmail only.
   * At most 50 items.
   */
  addMailboxIds?: string[]
  /**
   * Labels to remove, at most 50. Gmail only.
   * At most 50 items.
   */
  removeMailboxIds?: string[]
}

export interface MessagesDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The message’s `id`. */
  messageId: string
  /** `true`: removes this message and no other, for good. Default: false. On Gmail the grant needs the scope `https://mail.google.com/`; otherwise the answer is `scope_missing`. */
  permanent?: boolean
}

export interface MessagesRawInput {
  /** The account’s `id`. */
  accountId: string
  /** The message’s `id`. */
  messageId: string
}

export interface MessagesAttachmentInput {
  /** The account’s `id`. */
  accountId: string
  /** The message’s `id`. */
  messageId: string
  /** The `id` of one of the message’s `attachments`, such as `1.2`. */
  attachmentId: string
}

export interface OauthAppsCreateInput {
  provider: OAuthProviderGiven
  /** From 1 to 100 characters. */
  name: string
  /**
   * As the provider shows it.
   * From 1 to 255 characters.
   */
  clientId: string
  /**
   * It is never shown again.
   * From 1 to 1024 characters.
   */
  clientSecret?: string
  /**
   * Microsoft only: in PEM, in place of a client secret.
   * From 1 to 20000 characters.
   */
  certificate?: string
  /**
   * Microsoft only: the key of the certificate, in PEM. It is never shown again.
   * From 1 to 20000 characters.
   */
  privateKey?: string
  cloud?: MicrosoftCloudGiven
  /**
   * Replaces the default scopes for mail, calendars and contacts. At least one must read mail. Null: the defaults.
   * From 1 to 50 items.
   */
  scopes?: string[] | null
  gmailPush?: GmailPush | null
}

export interface OauthAppsGetInput {
  /** The app’s `id`. */
  appId: string
}

export interface OauthAppsUpdateInput {
  /** The app’s `id`. */
  appId: string
  /** From 1 to 100 characters. */
  name?: string
  /**
   * It is never shown again.
   * From 1 to 1024 characters.
   */
  clientSecret?: string
  /**
   * Microsoft only: in PEM, in place of a client secret.
   * From 1 to 20000 characters.
   */
  certificate?: string
  /**
   * Microsoft only: the key of the certificate, in PEM. It is never shown again.
   * From 1 to 20000 characters.
   */
  privateKey?: string
  /**
   * Replaces the default scopes for mail, calendars and contacts. At least one must read mail. Null: the defaults.
   * From 1 to 50 items.
   */
  scopes?: string[] | null
  gmailPush?: GmailPush | null
}

export interface OauthAppsDeleteInput {
  /** The app’s `id`. */
  appId: string
}

export interface OutboxListInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * Only entries with one of these.
   * From 1 to 100 items.
   */
  status?: ("queued" | "sending" | "sent" | "failed" | "cancelled")[]
  /**
   * Only entries with exactly this `reference`.
   * From 1 to 255 characters.
   */
  reference?: string
  /** Only entries of this mail merge. */
  mailMergeId?: string
  /**
   * Created at or after this time.
   * A time (RFC 3339).
   */
  since?: string
  /**
   * Created before this time, which must be later than `since`.
   * A time (RFC 3339).
   */
  until?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface OutboxCreateInput {
  /** The account’s `id`. */
  accountId: string
  /** One of the account’s identities. Default: the primary one. Default of `name`: the identity’s. */
  from?: AddressInput | null
  /** At most 500 items. */
  to?: AddressInput[]
  /** At most 500 items. */
  cc?: AddressInput[]
  /**
   * Never shown to any recipient.
   * At most 500 items.
   */
  bcc?: AddressInput[]
  /** At most 10 items. */
  replyTo?: AddressInput[]
  /**
   * Default: that of the message replied to or forwarded, after `Re:` or `Fwd:`.
   * At most 2000 characters.
   */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /** The `id` of a template that gives subject, HTML and text, with the values of `render.params`. It is rendered now. */
  template?: string | null
  /** With `template`: only `params`. Without it: `subject`, `html`, `text` or `previewText` as Handlebars. `subject`, `html` and `text` beside it must then be absent. */
  render?: RenderInput | null
  /**
   * At most 25 MiB together, decoded.
   * At most 100 items.
   */
  attachments?: AttachmentInput[]
  /** At most 50 items. */
  headers?: HeaderInput[]
  importance?: "high" | "normal" | "low" | null
  /** The `id` of the message that this one replies to. */
  inReplyTo?: string | null
  /** The `id` of the message that this one forwards. Its attachments are added. */
  forwardOf?: string | null
  /** Whether to append the identity’s signature. Default: `signByDefault` of the mail settings. */
  sign?: boolean
  /**
   * When to send, at most 365 days ahead. Default: now.
   * A time (RFC 3339).
   */
  sendAt?: string | null
  /**
   * Default: `undoSendSeconds` of the account.
   * From 0 to 60.
   */
  undoSendSeconds?: number
  /** The suppression list that is consulted beside the global one, and that the recipient leaves by the `List-Unsubscribe` link. Needs exactly one recipient, in `to`. A missing list is created. */
  listId?: string | null
  /** Whether to add an image that tells when the message is opened. Default: `trackOpens` of the account. */
  trackOpens?: boolean
  /** Whether the links of the HTML lead over the service, which tells when one is clicked. Default: `trackClicks` of the account. */
  trackClicks?: boolean
  /**
   * Your own identifier for the send.
   * At most 255 characters.
   */
  reference?: string | null
}

export interface OutboxGetInput {
  /** The account’s `id`. */
  accountId: string
  /** The entry’s `id`. */
  outboxId: string
  /**
   * Maximum number of seconds to wait.
   * From 0 to 30.
   * Default: `0`.
   */
  waitSeconds?: number
}

export interface OutboxRescheduleInput {
  /** The account’s `id`. */
  accountId: string
  /** The entry’s `id`. */
  outboxId: string
  /**
   * At most 365 days ahead and at most 60 seconds in the past; null: now.
   * A time (RFC 3339).
   */
  sendAt: string | null
}

export interface OutboxCancelInput {
  /** The account’s `id`. */
  accountId: string
  /** The entry’s `id`. */
  outboxId: string
}

export interface OutboxReleaseInput {
  /** The account’s `id`. */
  accountId: string
  /** The entry’s `id`. */
  outboxId: string
}

export interface SearchMessagesInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * The search query.
   * From 1 to 500 characters.
   */
  q: string
  /**
   * `auto` uses the index. It uses the provider if `after` is before the sync window, if the index found nothing and does not hold all mail, or while the account’s index is being rewritten after an upgrade.
   * Default: `"auto"`.
   */
  source?: "index" | "provider" | "auto"
  /** Default: all mailboxes. */
  mailboxId?: string
  /**
   * Part of the sender’s address or display name.
   * From 1 to 320 characters.
   */
  from?: string
  /**
   * Part of an address or display name in To, Cc or Bcc.
   * From 1 to 320 characters.
   */
  to?: string
  /** `true`: only unread messages; `false`: only read ones. */
  unread?: boolean
  /** `true`: only flagged messages; `false`: only unflagged ones. */
  flagged?: boolean
  /** `true`: only messages with attachments; `false`: only messages without. */
  hasAttachments?: boolean
  /**
   * Received at or after this time.
   * A time (RFC 3339).
   */
  after?: string
  /**
   * Received before this time, which must be later than `after`.
   * A time (RFC 3339).
   */
  before?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 100.
   * Default: `25`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page. It works only with the source that issued it; a cursor of the provider is valid for one hour.
   * At most 512 characters.
   */
  cursor?: string
}

export interface SettingsUpdateInput {
  bodyStorage?: BodyStorageGiven
  /**
   * How many days of mail the index holds; null holds the full history.
   * From 1 to 36500.
   */
  syncWindowDays?: number | null
  /** Sync calendars, if the account has any. */
  calendarEnabled?: boolean
  /** Sync contacts, if the account has any. */
  contactsEnabled?: boolean
  /**
   * Seconds that a send waits before it leaves, so that it can be cancelled.
   * From 0 to 60.
   */
  undoSendSeconds?: number
  /** Report when a sent message is opened. */
  trackOpens?: boolean
  /** Report when a link in a sent message is clicked. */
  trackClicks?: boolean
  /** Add a link that only machines follow, to tell their clicks from those of people. */
  trackingHoneypot?: boolean
  optOutHandling?: OptOutHandlingGiven
  /**
   * Days that events stay in the change feed.
   * From 7 to 30.
   */
  eventRetentionDays?: number
  /** At most 50 items. */
  redirectUris?: string[]
  /** Classify replies with a language model. */
  aiReplyClassification?: boolean
  mcpSendPolicy?: {
    /** Permission of an AI assistant: send, send after a person’s confirmation, or only write drafts. */
    mode?: "allow" | "confirm" | "drafts_only"
    /** At most 100 items. */
    allowedRecipientDomains?: string[] | null
    /**
     * Sends per credential and UTC day; null: no limit.
     * From 1 to 10000.
     */
    dailySendLimit?: number | null
    externalRecipientConfirmation?: boolean
  }
}

export interface SharedMailboxesAddInput {
  /** The account’s `id`. */
  accountId: string
  /**
   * The address of the shared mailbox.
   * At most 320 characters.
   */
  email: string
  /** At most 255 characters. */
  displayName?: string | null
  /**
   * Your own identifier for the account, such as the id of your user.
   * At most 255 characters.
   */
  externalRef?: string | null
  settings?: AccountSettingsInput
}

export interface SuppressionReviewsListInput {
  /**
   * Only reviews of this list.
   * From 1 to 63 characters.
   */
  listId?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface SuppressionReviewsApproveInput {
  /** The review’s `id`. */
  reviewId: string
}

export interface SuppressionReviewsDismissInput {
  /** The review’s `id`. */
  reviewId: string
}

export interface SuppressionsCreateInput {
  /** Never changes. */
  id: string
  /** From 1 to 100 characters. */
  name: string
  /** At most 1000 characters. */
  description?: string | null
}

export interface SuppressionsUpdateInput {
  /** The list’s `id`; `global` is the global list. */
  listId: string
  /** From 1 to 100 characters. */
  name?: string
  /** At most 1000 characters. */
  description?: string | null
}

export interface SuppressionsDeleteInput {
  /** The list’s `id`; `global` is the global list. */
  listId: string
  /**
   * Whether to delete a list that has addresses. They are then no longer suppressed by it.
   * Default: `false`.
   */
  withEntries?: boolean
}

export interface SuppressionsListEntriesInput {
  /** The list’s `id`; `global` is the global list. */
  listId: string
  /**
   * Only addresses that contain this.
   * From 1 to 320 characters.
   */
  address?: string
  /** Only addresses from this source. */
  source?: SuppressionSourceGiven
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface SuppressionsAddEntriesInput {
  /** The list’s `id`; `global` is the global list. */
  listId: string
  /** From 1 to 1000 items. */
  addresses: string[]
  /** From 1 to 200 characters. */
  reason?: string
}

export interface SuppressionsDeleteEntryInput {
  /** The list’s `id`; `global` is the global list. */
  listId: string
  /** 1 to 320 characters. Upper and lower case are the same. */
  address: string
}

export interface TemplateRendersCreateInput {
  templateId?: string | null
  accountId?: string | null
  /** At most 2000 characters. */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: with the format `markdown` the Markdown, else the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /**
   * Text that mail programs show beside the subject. It is put at the top of the HTML, hidden.
   * At most 2000 characters.
   */
  previewText?: string | null
  /** Default: `html`. */
  format?: "html" | "markdown" | null
  /** The values of `{{params.…}}`, at most 256 KB as JSON. */
  params?: Record<string, unknown>
}

export interface TemplatesListInput {
  /** Only templates of this account. */
  accountId?: string
  /** Only templates of this account, and shared ones. */
  usableBy?: string
  /**
   * Only templates with exactly this name.
   * At most 255 characters.
   */
  name?: string
  /**
   * Only templates whose name contains this, in upper or lower case.
   * At most 255 characters.
   */
  query?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 200.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface TemplatesCreateInput {
  /** The account that may use it. Default: every account. */
  accountId?: string | null
  /** From 1 to 255 characters. */
  name: string
  /** At most 1000 characters. */
  description?: string | null
  /** At most 2000 characters. */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: with the format `markdown` the Markdown, else the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /**
   * Text that mail programs show beside the subject. It is put at the top of the HTML, hidden.
   * At most 2000 characters.
   */
  previewText?: string | null
  /** With `markdown`, `html` holds Markdown of GitHub’s flavour, without HTML in it. */
  format?: "html" | "markdown"
  /** `react-email`: rendered in code and uploaded under its name. */
  source?: "handlebars" | "react-email"
  /** At most 255 characters. */
  externalRef?: string | null
}

export interface TemplatesGetInput {
  /** The template’s `id`. */
  templateId: string
}

export interface TemplatesUpdateInput {
  /** The template’s `id`. */
  templateId: string
  /** From 1 to 255 characters. */
  name?: string
  /** At most 1000 characters. */
  description?: string | null
  /** At most 2000 characters. */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: with the format `markdown` the Markdown, else the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /**
   * Text that mail programs show beside the subject. It is put at the top of the HTML, hidden.
   * At most 2000 characters.
   */
  previewText?: string | null
  /** With `markdown`, `html` holds Markdown of GitHub’s flavour, without HTML in it. */
  format?: "html" | "markdown"
  /** `react-email`: rendered in code and uploaded under its name. */
  source?: "handlebars" | "react-email"
  /** At most 255 characters. */
  externalRef?: string | null
}

export interface TemplatesDeleteInput {
  /** The template’s `id`. */
  templateId: string
}

export interface ThreadsListInput {
  /** The account’s `id`. */
  accountId: string
  /** Default: all mailboxes. */
  mailboxId?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 100.
   * Default: `25`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface ThreadsGetInput {
  /** The account’s `id`. */
  accountId: string
  /** The thread’s `id`. */
  threadId: string
}

export interface ThreadsUpdateInput {
  /** The account’s `id`. */
  accountId: string
  /** The thread’s `id`. */
  threadId: string
  isRead?: boolean
  /** Moves every message there. */
  mailboxId?: string
}

export interface ThreadsDeleteInput {
  /** The account’s `id`. */
  accountId: string
  /** The thread’s `id`. */
  threadId: string
}

export interface TrackingGetInput {
  /** The account’s `id`. */
  accountId: string
  /** The entry’s `id`. */
  outboxId: string
}

export interface UsageGetInput {
  /** The first day, in UTC. */
  from?: string
  /** The last day, in UTC. */
  to?: string
}

export interface WebhookDeliveriesListAttemptsInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /** Only attempts of events of this type. */
  eventType?: EventTypeGiven
  /** Only attempts of this event. */
  eventId?: EventId
  /** Only attempts of events of this account. */
  accountId?: string
  /** `succeeded`: answered with a 2xx status in time. `failed`: all others. */
  result?: "succeeded" | "failed"
  /**
   * Only attempts that began at this time or later.
   * A time (RFC 3339).
   */
  since?: string
  /**
   * Only attempts that began before this time.
   * A time (RFC 3339).
   */
  until?: string
  /**
   * Maximum number of items on the page.
   * From 1 to 500.
   * Default: `50`.
   */
  limit?: number
  /**
   * `nextCursor` of the previous page.
   * At most 512 characters.
   */
  cursor?: string
}

export interface WebhookDeliveriesReplayInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /**
   * Only events created at this time or later.
   * A time (RFC 3339).
   */
  since: string
  /**
   * Only events created before this time.
   * A time (RFC 3339).
   */
  until: string
}

export interface WebhookDeliveriesReplayEventInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /** The event’s `id`. */
  eventId: string
}

export interface WebhookDeliveriesCountFailedDeliveriesInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /**
   * Only events created at this time or later.
   * A time (RFC 3339).
   */
  since?: string
  /**
   * Only events created before this time.
   * A time (RFC 3339).
   */
  until?: string
}

export interface WebhookDeliveriesReplayFailedInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /**
   * Only events created at this time or later.
   * A time (RFC 3339).
   */
  since?: string
  /**
   * Only events created before this time.
   * A time (RFC 3339).
   */
  until?: string
}

export interface WebhooksCreateInput {
  /**
   * Begins with `https://`. Its host must have a public address; its port is 443 or at least 1024.
   * From 1 to 2048 characters.
   */
  url: string
  /** At most 500 characters. */
  description?: string | null
  filters?: WebhookFiltersInput | null
}

export interface WebhooksUpdateInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /**
   * Begins with `https://`. Its host must have a public address; its port is 443 or at least 1024.
   * From 1 to 2048 characters.
   */
  url?: string
  /** At most 500 characters. */
  description?: string | null
  filters?: WebhookFiltersInput | null
  isEnabled?: boolean
}

export interface WebhooksDeleteInput {
  /** The endpoint’s `id`. */
  endpointId: string
}

export interface WebhooksRotateSecretInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /**
   * 0 stops the replaced secret at once.
   * From 0 to 604800.
   * Default: `86400`.
   */
  graceSeconds?: number
}

export interface WebhooksTestInput {
  /** The endpoint’s `id`. */
  endpointId: string
  /** Default: `"webhook.test"`. */
  eventType?: EventTypeGiven
  /** The event’s `accountId`. */
  accountId?: string | null
  /** Must fit the type. Without it, sample data is sent. */
  data?: Record<string, unknown>
}

export interface Account {
  id: string
  /** Your own identifier for the account. */
  externalRef: string | null
  provider: "gmail" | "graph" | "imap" | (string & {})
  email: string
  displayName: string | null
  /** The OAuth app that the user signed in with. */
  oauthAppId: string | null
  /** Microsoft accounts only. */
  cloud: MicrosoftCloud | null
  /** Only `active` accounts are synced. `paused` is set by you, `reauth_required` when the provider refuses the login, `disabled` by the provider or the operator. */
  status: "active" | "paused" | "reauth_required" | "disabled" | (string & {})
  /** The reason for the status, if there is more to say. */
  statusReason: string | null
  settings: AccountSettings
  settingsOverride: AccountSettingsOverride
  /** The last report of the process that follows the account; null before the first one. */
  runtime: AccountRuntime | null
  /** IMAP accounts only. */
  imap: {
    imap: MailServer
    smtp: MailServer | null
    auth: "password" | "oauth" | (string & {})
    /** Whether a copy of each sent message is saved to the sent mailbox. */
    appendSent: boolean
    dav: {
      calendarUrl: string | null
      contactsUrl: string | null
      user: string
      auth: "imap_password" | "password" | "oauth" | (string & {})
    } | null
  } | null
  auth: {
    method: "oauth" | "password" | "org_connection" | "delegate" | (string & {})
    orgConnectionId?: string
    delegateAccountId?: string
  }
  /**
   * When the first sync of mail finished.
   * A time (RFC 3339).
   */
  initializedAt: string | null
  /**
   * When the first sync of calendars finished.
   * A time (RFC 3339).
   */
  calendarInitializedAt: string | null
  /**
   * When the first sync of contacts finished.
   * A time (RFC 3339).
   */
  contactsInitializedAt: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface AccountAvailability {
  /** Busy times within the range, ascending. They do not touch each other. */
  busy: TimeRange[]
  slots: TimeRange[]
  /** In the order of the request, repeated addresses once. */
  attendees: AttendeeBusy[]
  /** Whether all busy times are known. False while an account or an attendee is unresolved, or if a series of a counted calendar has more occurrences than the index holds. */
  complete: boolean
  /** Ids of the accounts and addresses of the attendees whose busy times are unknown. */
  unresolved: string[]
  /** Whether there are more slots. The answer has the first 2,000. */
  truncated: boolean
  /** Present if `explain` was true. */
  explanation?: AvailabilityExplanation
}

export interface AccountBusy {
  accountId: string
  /** Busy times within the range, ascending. They do not touch each other. */
  busy: TimeRange[]
}

export interface AccountIntegrity {
  /** `verified`: every mailbox, calendar and contact folder was found equal to its provider within the last 26 hours. `behind`: a difference is not repaired yet. `unverified`: one of them was not compared yet, or too long ago, or its provider contradicts itself or seems to have been restored from a backup. */
  state: "verified" | "behind" | "unverified" | (string & {})
  /**
   * The time for which the whole account was last found equal; null if it never was.
   * A time (RFC 3339).
   */
  verifiedAt: string | null
  /**
   * The oldest of the last comparisons; null while a mailbox, calendar or contact folder has had none.
   * A time (RFC 3339).
   */
  comparedAt: string | null
  /**
   * Messages, contacts or events that the provider listed and the index lacked.
   * At least 0.
   */
  missing: number
  /**
   * Messages, contacts or events of the index that the provider did not list.
   * At least 0.
   */
  extra: number
  /**
   * Messages whose flags or categories differed, and contacts or events of another version.
   * At least 0.
   */
  changed: number
  /**
   * Differences of this comparison, or of those that led to it, that were repaired since.
   * At least 0.
   */
  repaired: number
  /** Mailboxes that hold messages, by their paths. */
  mailboxes: MailboxIntegrity[]
  /** Absent unless calendars of the account are followed. They count for `state`, the times and the sums. */
  calendars?: CalendarIntegrity[]
  /** Absent unless contacts of the account are followed. They count for `state`, the times and the sums. */
  contactFolders?: ContactFolderIntegrity[]
}

export interface AccountPage {
  items: Account[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface AccountRuntime {
  /** `pending` also when no process follows the account: its owner released it, or has sent no heartbeat for 30 seconds. `stopped` when the account is not `active`. */
  state: "pending" | "connecting" | "syncing" | "live" | "backoff" | "stopped" | (string & {})
  /** A short explanation for people. */
  detail: string | null
  /** The process that wrote this report. */
  ownerInstanceId: string
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface AccountSettings {
  bodyStorage: BodyStorage
  /**
   * How many days of mail the index holds; null holds the full history.
   * From 1 to 36500.
   */
  syncWindowDays: number | null
  /** Sync calendars, if the account has any. */
  calendarEnabled: boolean
  /** Sync contacts, if the account has any. */
  contactsEnabled: boolean
  /**
   * Seconds that a send waits before it leaves, so that it can be cancelled.
   * From 0 to 60.
   */
  undoSendSeconds: number
  /** Report when a sent message is opened. */
  trackOpens: boolean
  /** Report when a link in a sent message is clicked. */
  trackClicks: boolean
  /** Add a link that only machines follow, to tell their clicks from those of people. */
  trackingHoneypot: boolean
}

export interface AccountSettingsInput {
  bodyStorage?: BodyStorageGiven
  /**
   * How many days of mail the index holds; null holds the full history.
   * From 1 to 36500.
   */
  syncWindowDays?: number | null
  /** Sync calendars, if the account has any. */
  calendarEnabled?: boolean
  /** Sync contacts, if the account has any. */
  contactsEnabled?: boolean
  /**
   * Seconds that a send waits before it leaves, so that it can be cancelled.
   * From 0 to 60.
   */
  undoSendSeconds?: number
  /** Report when a sent message is opened. */
  trackOpens?: boolean
  /** Report when a link in a sent message is clicked. */
  trackClicks?: boolean
  /** Add a link that only machines follow, to tell their clicks from those of people. */
  trackingHoneypot?: boolean
  /** Microsoft only. Whether users are asked for access to shared mailboxes when they sign in. Needs the module `sharedMailboxes`, and is not shown. */
  sharedMailboxesEnabled?: boolean
}

export interface AccountSettingsOverride {
  bodyStorage?: BodyStorage
  /**
   * How many days of mail the index holds; null holds the full history.
   * From 1 to 36500.
   */
  syncWindowDays?: number | null
  /** Sync calendars, if the account has any. */
  calendarEnabled?: boolean
  /** Sync contacts, if the account has any. */
  contactsEnabled?: boolean
  /**
   * Seconds that a send waits before it leaves, so that it can be cancelled.
   * From 0 to 60.
   */
  undoSendSeconds?: number
  /** Report when a sent message is opened. */
  trackOpens?: boolean
  /** Report when a link in a sent message is clicked. */
  trackClicks?: boolean
  /** Add a link that only machines follow, to tell their clicks from those of people. */
  trackingHoneypot?: boolean
}

export interface AccountToken {
  /** Shown only this once. */
  token: string
  /** A time (RFC 3339). */
  expiresAt: string
}

export interface AddedSuppressions {
  added: number
  alreadyListed: number
}

export interface Address {
  /** The display name. */
  name: string | null
  /** Empty if the sender gives only a name, as bounces do. */
  address: string
}

export interface AddressInput {
  /**
   * The display name.
   * At most 256 characters.
   */
  name?: string | null
  /** At most 320 characters. */
  address: string
}

export interface ApprovedSuppression {
  /** False if the address was listed already. */
  added: boolean
}

export interface Attachment {
  /** The MIME part number, such as `1.2`. */
  id: string
  /** As the sender named it; not safe as a file path. */
  filename: string | null
  /** As the sender declared it. */
  contentType: string
  /** Size of the download in bytes. */
  size: number
  /** Whether it is shown within the body, as images of HTML mail are. */
  isInline: boolean
  /** The name that `cid:` links in the HTML use, without angle brackets. */
  contentId: string | null
}

export interface AttachmentInput {
  /**
   * Default: the name of the referenced attachment, if it is one.
   * From 1 to 255 characters.
   */
  filename?: string | null
  /** The media type. By default, a referenced attachment keeps its own, and anything else is `application/octet-stream`. */
  contentType?: string | null
  /**
   * The name that `cid:` links in the HTML use, without angle brackets.
   * At most 255 characters.
   */
  contentId?: string | null
  /** Whether it is shown within the HTML. Needs a `contentId`. Default: false. */
  isInline?: boolean
  /** The bytes, in base64. */
  content?: string
  /** A message of the account that has the attachment. */
  messageId?: string
  /**
   * The `id` of one of that message’s `attachments`.
   * From 1 to 1024 characters.
   */
  attachmentId?: string
}

export interface Attendee {
  /** The display name. */
  name: string | null
  /** Empty if the sender gives only a name, as bounces do. */
  address: string
  type: "required" | "optional" | "resource" | (string & {})
  response: "none" | "accepted" | "tentative" | "declined" | "needs_action" | (string & {})
}

export interface AttendeeBusy {
  address: string
  /** Busy times within the range, ascending. They do not touch each other. */
  busy: TimeRange[]
  /** Whether a provider answered for the address. */
  resolved: boolean
}

export interface AttendeeInput {
  /**
   * The display name.
   * At most 256 characters.
   */
  name?: string | null
  /** At most 320 characters. */
  address: string
  /** Default: `"required"`. */
  type?: "required" | "optional" | "resource"
}

export interface AuditEntry {
  id: string
  /**
   * When the request came in.
   * A time (RFC 3339).
   */
  createdAt: string
  actor: {
    type: "user" | "apiKey" | "accountToken" | "connectSession" | "mcpKey" | "invitee" | "operator" | (string & {})
    /** Null for an operator. */
    id: string | null
    /** The name of the key or user at that time; for an account token that of its key. */
    label: string | null
  }
  /** The resource and a verb, such as `account.create`. */
  action: string
  /** `v1` is this interface, `cli` the operator’s command line. */
  surface: "v1" | "console" | "mcp" | "hosted" | "cli" | (string & {})
  /** Ids of what was named in the path, and of what was made, such as `accountId`. */
  targets: Record<string, string>
  /** The address of the client, behind the proxies that the operator trusts. */
  ip: string | null
  /** The first 512 characters of the header `User-Agent`. */
  userAgent: string | null
  /** The HTTP status of the answer; 200 for a command. */
  status: number
  /** `code` of the answer; null on success. */
  errorReason: string | null
  /** The `X-Request-Id` of the answer. */
  requestId: string
}

export interface AuditEntryPage {
  items: AuditEntry[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface Autoconfig {
  /** Where they were found. */
  source: "provider" | "autoconfig" | "ispdb" | "srv" | "mx" | (string & {})
  imap: MailServer
  /** Null if none was found. */
  smtp: MailServer | null
  /** The provider that offers OAuth sign-in at these servers, besides a password; null if there is none. */
  oauth: OAuthProvider | null
  /** Calendars and contacts; null if none were found. */
  dav: AutoconfigDav | null
}

export interface AutoconfigDav {
  source: "provider" | "srv" | "well_known" | (string & {})
  calendarUrl: string | null
  contactsUrl: string | null
}

export interface AvailabilityExplanation {
  accounts: ExplainedAccount[]
  /** Slots of the same grid that are not offered, at most 1,000, of which at most 500 are outside of `hours`, ascending, with the reason of each account and attendee that is not free. */
  refused: RefusedSlot[]
  /** Whether slots that were refused are left out. Then ask for a shorter range. */
  truncated: boolean
}

/** Which bodies are stored: none, those that were read once, or those of all indexed messages. */
export type BodyStorage = "none" | "cache" | "full" | (string & {})

/** Which bodies are stored: none, those that were read once, or those of all indexed messages. */
export type BodyStorageGiven = "none" | "cache" | "full"

export interface Booking {
  id: string
  /** The scheduling link, which may be gone. */
  linkId: string
  status: "confirmed" | "cancelled" | (string & {})
  /** The organizer. */
  accountId: string
  /** The accounts that were booked. */
  accountIds: string[]
  /** The event in the organizer’s calendar, which may be gone. */
  eventId: string
  /** A time (RFC 3339). */
  start: string
  /** A time (RFC 3339). */
  end: string
  /** The invitee’s, an IANA name. */
  timeZone: string
  name: string
  email: string
  guests: Address[]
  notes: string | null
  reference: string | null
  onlineMeetingUrl: string | null
  /** A page on which the invitee can move or cancel it. */
  manageUrl: string
  /** The booking that this one replaces. */
  rescheduledFromId: string | null
  /** The booking that replaced this one. */
  rescheduledToId: string | null
  /** A time (RFC 3339). */
  cancelledAt: string | null
  cancelledBy: "api" | "invitee" | "calendar" | (string & {}) | null
  cancelReason: string | null
  /** A time (RFC 3339). */
  createdAt: string
}

export interface Calendar {
  id: string
  name: string
  description: string | null
  owner: Address | null
  isPrimary: boolean
  /** Access of the account to it. */
  access: "owner" | "writer" | "reader" | "freebusy" | (string & {})
  /** Whether events can be written to it. */
  canEdit: boolean
  color: string | null
  /** An IANA name. */
  timeZone: string | null
  isHidden: boolean
}

export interface CalendarCollection {
  items: Calendar[]
}

export interface CalendarEvent {
  id: string
  calendarId: string
  kind: "single" | "series" | "occurrence" | "exception" | (string & {})
  /** The series of an occurrence or exception. */
  seriesId: string | null
  /**
   * When the series would have an exception begin.
   * A time (RFC 3339).
   */
  originalStart: string | null
  subject: string | null
  snippet: string
  location: string | null
  start: EventTime
  /** The first moment after the event. */
  end: EventTime
  isAllDay: boolean
  organizer: Address | null
  attendees: Attendee[]
  isOrganizer: boolean
  selfResponse: "none" | "organizer" | "accepted" | "tentative" | "declined" | "needs_action" | (string & {})
  status: "confirmed" | "tentative" | "cancelled" | (string & {})
  showAs: "free" | "busy" | "tentative" | "oof" | "working_elsewhere" | "unknown" | (string & {})
  sensitivity: "normal" | "personal" | "private" | "confidential" | (string & {})
  onlineMeetingUrl: string | null
  onlineMeetingProvider: "google_meet" | "teams" | "skype" | "zoom" | "webex" | "other" | (string & {}) | null
  iCalUid: string | null
  /** Content lines of a series (RFC 5545). */
  recurrence: string[] | null
  recurrenceTimeZone: string | null
  /** The starts of occurrences that were deleted from a series; null for anything else. */
  cancelledStarts: string[] | null
  categories: string[]
  hasAttachments: boolean
  reminderMinutes: number | null
  webLink: string | null
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface CalendarEventPage {
  items: CalendarEvent[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface CalendarEventWithBody {
  id: string
  calendarId: string
  kind: "single" | "series" | "occurrence" | "exception" | (string & {})
  /** The series of an occurrence or exception. */
  seriesId: string | null
  /**
   * When the series would have an exception begin.
   * A time (RFC 3339).
   */
  originalStart: string | null
  subject: string | null
  snippet: string
  location: string | null
  start: EventTime
  /** The first moment after the event. */
  end: EventTime
  isAllDay: boolean
  organizer: Address | null
  attendees: Attendee[]
  isOrganizer: boolean
  selfResponse: "none" | "organizer" | "accepted" | "tentative" | "declined" | "needs_action" | (string & {})
  status: "confirmed" | "tentative" | "cancelled" | (string & {})
  showAs: "free" | "busy" | "tentative" | "oof" | "working_elsewhere" | "unknown" | (string & {})
  sensitivity: "normal" | "personal" | "private" | "confidential" | (string & {})
  onlineMeetingUrl: string | null
  onlineMeetingProvider: "google_meet" | "teams" | "skype" | "zoom" | "webex" | "other" | (string & {}) | null
  iCalUid: string | null
  /** Content lines of a series (RFC 5545). */
  recurrence: string[] | null
  recurrenceTimeZone: string | null
  /** The starts of occurrences that were deleted from a series; null for anything else. */
  cancelledStarts: string[] | null
  categories: string[]
  hasAttachments: boolean
  reminderMinutes: number | null
  webLink: string | null
  /** A time (RFC 3339). */
  updatedAt: string
  body: {
    contentType: "text" | "html" | (string & {})
    content: string
  } | null
}

export interface CalendarIntegrity {
  calendarId: string
  /**
   * When it was last compared; null before the first time.
   * A time (RFC 3339).
   */
  comparedAt: string | null
  /**
   * Single events and series that the provider listed, within the window of the index, and members of series that it lists by themselves.
   * At least 0.
   */
  listed: number
  /**
   * Events and members that the index had, also at the edges of its window.
   * At least 0.
   */
  indexed: number
  /**
   * Messages, contacts or events that the provider listed and the index lacked.
   * At least 0.
   */
  missing: number
  /**
   * Messages, contacts or events of the index that the provider did not list.
   * At least 0.
   */
  extra: number
  /**
   * Messages whose flags or categories differed, and contacts or events of another version.
   * At least 0.
   */
  changed: number
  /**
   * Differences of this comparison, or of those that led to it, that were repaired since.
   * At least 0.
   */
  repaired: number
}

export interface ChangeEvent {
  id: EventId
  type: EventType
  /** Null for events that concern no single account. */
  accountId: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** Depends on the type: see the schemas named `ChangeEvent.` and the type. Empty after the account was purged: its events keep their ids, but none of their content. */
  data: Record<string, unknown>
  /** Only on test events. */
  isTest?: true
}

export interface ChangeEventPage {
  items: ChangeEvent[]
  /**
   * The cursor for the next request; never null.
   * From 1 to 512 characters.
   */
  nextCursor: string
}

export interface Classification {
  /** Kind of reply. */
  kind: "reply" | "auto_reply" | "opt_out" | "bounce" | "other" | (string & {})
  /** The probability of each kind, from 0 to 1. Kinds that are left out have none. */
  probabilities: Record<string, number>
  /** The probability that the sender wants no more mail, from 0 to 1. */
  optOutProbability: number
  /** Category of an automatic reply; null if the reply is not automatic. */
  autoReplyCategory: "out_of_office" | "left_company" | "address_changed" | "acknowledgement" | "other" | (string & {}) | null
  /** The day on which the sender is back, if an out-of-office reply names it. */
  returnDate: string | null
  /** Addresses that an automatic reply names as contacts instead. */
  alternateContacts: string[]
  /** The send that this is a reply to. */
  outboxId: string | null
  /** `rules`, or the language model that classified the reply. */
  model: string
  /** A time (RFC 3339). */
  classifiedAt: string
}

export interface ConnectLink {
  id: string
  /** Shown only this once. */
  url: string
  /** A time (RFC 3339). */
  expiresAt: string
}

export interface ConnectRedirect {
  /** Send the browser there. */
  redirectUrl: string
}

export interface ConnectSession {
  id: string
  status: "pending" | "completed" | "failed" | (string & {})
  /** Why it failed. `session_expired` if it was not completed in time. */
  error: "access_denied" | "access_token_rejected" | "account_exists" | "account_mismatch" | "billing_past_due" | "cancelled" | "internal_error" | "invalid_client" | "invalid_grant" | "oauth_app_secret_unreadable" | "plan_limit_accounts" | "provider_forbidden" | "provider_not_configured" | "provider_throttled" | "provider_unavailable" | "scope_denied" | "scope_missing" | "session_expired" | "session_used" | "token_exchange_failed" | (string & {}) | null
  /** The account that was connected, or that is to sign in again. */
  accountId: string | null
  /** The address of the account that was connected. */
  email: string | null
  mcpKeyId: string | null
  mcpKeySkipped: "mcp_key_limit" | (string & {}) | null
  /** A time (RFC 3339). */
  expiresAt: string
  /** A time (RFC 3339). */
  createdAt: string
}

export interface Contact {
  id: string
  /** Null if the provider has no folders of contacts. */
  folderId: string | null
  displayName: string | null
  givenName: string | null
  middleName: string | null
  familyName: string | null
  nickname: string | null
  organization: string | null
  jobTitle: string | null
  department: string | null
  emails: ({
    address: string
    type: "home" | "work" | "other" | (string & {})
  })[]
  phones: ({
    number: string
    type: "mobile" | "home" | "work" | "main" | "fax" | "pager" | "other" | (string & {})
  })[]
  /** `--MM-DD` without a year. */
  birthday: string | null
  notes: string | null
  /** Null while it is not known. */
  hasPhoto: boolean | null
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface ContactFolder {
  id: string
  name: string
  /** Whether contacts are created there unless a request names another folder. */
  isDefault: boolean
}

export interface ContactFolderCollection {
  items: ContactFolder[]
}

export interface ContactFolderIntegrity {
  /** Null if the provider has no folders of contacts. */
  folderId: string | null
  /**
   * When it was last compared; null before the first time.
   * A time (RFC 3339).
   */
  comparedAt: string | null
  /**
   * Contacts that the provider listed.
   * At least 0.
   */
  listed: number
  /**
   * Contacts that the index had.
   * At least 0.
   */
  indexed: number
  /**
   * Messages, contacts or events that the provider listed and the index lacked.
   * At least 0.
   */
  missing: number
  /**
   * Messages, contacts or events of the index that the provider did not list.
   * At least 0.
   */
  extra: number
  /**
   * Messages whose flags or categories differed, and contacts or events of another version.
   * At least 0.
   */
  changed: number
  /**
   * Differences of this comparison, or of those that led to it, that were repaired since.
   * At least 0.
   */
  repaired: number
}

export interface ContactPage {
  items: Contact[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface CountedCalendar {
  calendarId: string
  name: string
  isCounted: boolean
  /** `named` and `not_named`: whether `calendarIds` has it. Otherwise the primary calendar counts, and those that the account owns, except for hidden ones. */
  reason: "named" | "primary" | "owned" | "not_named" | "not_owned" | "hidden" | (string & {})
}

export interface CreatedWebhookEndpoint {
  endpoint: WebhookEndpoint
  /** Begins with `whsec_`. Shown only here. */
  secret: string
}

export interface EventBodyInput {
  /** Default: `"text"`. */
  contentType?: "text" | "html"
  /** At most 1000000 characters. */
  content: string
}

/** A position in the event feed. Later events have greater positions. */
export type EventId = string

export interface EventTime {
  /**
   * Null for an event of whole days.
   * A time (RFC 3339).
   */
  dateTime: string | null
  /** The day of an event of whole days, otherwise null. */
  date: string | null
  /** The IANA name of the zone in which the event was made; null if it has none. */
  timeZone: string | null
}

export interface EventTimeInput {
  /** With `Z` or an offset an instant; without, the time of a clock in `timeZone`. */
  dateTime?: string
  /** The day of an event of whole days, in place of `dateTime`. */
  date?: string
  /**
   * An IANA name. Required for a series, and for a `dateTime` without `Z` or offset.
   * From 1 to 255 characters.
   */
  timeZone?: string
}

export type EventType = "webhook.test" | "account.connected" | "account.updated" | "account.deleted" | "account.reauth_required" | "account.initialized" | "account.purged" | "mailbox.created" | "mailbox.updated" | "mailbox.deleted" | "message.created" | "message.updated" | "message.deleted" | "message.bounced" | "message.classified" | "message.opened" | "message.clicked" | "send.sent" | "send.retrying" | "send.failed" | "send.rescheduled" | "suppression.created" | "calendar.initialized" | "calendar.created" | "calendar.updated" | "calendar.deleted" | "calendar_event.created" | "calendar_event.updated" | "calendar_event.deleted" | "contacts.initialized" | "contact.created" | "contact.updated" | "contact.deleted" | "export.completed" | "export.failed" | "meeting_connection.connected" | "meeting_connection.reauth_required" | "booking.created" | "booking.cancelled" | (string & {})

export type EventTypeGiven = "webhook.test" | "account.connected" | "account.updated" | "account.deleted" | "account.reauth_required" | "account.initialized" | "account.purged" | "mailbox.created" | "mailbox.updated" | "mailbox.deleted" | "message.created" | "message.updated" | "message.deleted" | "message.bounced" | "message.classified" | "message.opened" | "message.clicked" | "send.sent" | "send.retrying" | "send.failed" | "send.rescheduled" | "suppression.created" | "calendar.initialized" | "calendar.created" | "calendar.updated" | "calendar.deleted" | "calendar_event.created" | "calendar_event.updated" | "calendar_event.deleted" | "contacts.initialized" | "contact.created" | "contact.updated" | "contact.deleted" | "export.completed" | "export.failed" | "meeting_connection.connected" | "meeting_connection.reauth_required" | "booking.created" | "booking.cancelled"

export interface ExplainedAccount {
  accountId: string
  /**
   * When the calendars were last proven equal to the provider; null if they never were.
   * A time (RFC 3339).
   */
  asOf: string | null
  calendars: CountedCalendar[]
}

export interface Export {
  id: string
  /** Null for an export of the tenant. */
  accountId: string | null
  accountEmail: string | null
  status: "queued" | "running" | "completed" | "failed" | "expired" | (string & {})
  bytes: number
  /** The SHA-256 of the file, in hexadecimal digits; null until the file is complete. */
  sha256: string | null
  /** How many items of each kind it holds. */
  contents: Record<string, number>
  error: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  startedAt: string | null
  /** A time (RFC 3339). */
  completedAt: string | null
  /**
   * When the file is deleted.
   * A time (RFC 3339).
   */
  expiresAt: string | null
}

export interface FailedDeliveryCount {
  count: number
}

export interface GmailPush {
  /**
   * The Pub/Sub topic that Gmail publishes changes to.
   * At most 512 characters.
   */
  topic: string
  /**
   * The push subscription of the topic. Only its pushes to `/push/gmail` are believed.
   * At most 512 characters.
   */
  subscription: string
  /**
   * The service account by which Google signs the pushes.
   * At most 320 characters.
   */
  serviceAccount: string
}

export interface HeaderInput {
  /** Begins with `X-` or `List-`, or is `Auto-Submitted`, `Precedence`, `Feedback-ID` or `Organization`. Fields that the service sets itself are refused. */
  name: string
  /**
   * Characters beyond ASCII are sent as encoded words.
   * At most 998 characters.
   */
  value: string
}

export interface HostedConnectSession {
  tenantName: string
  /** In the order in which to offer them. */
  providers: OAuthProvider[]
  /** Whether an IMAP mailbox can be connected with a password. */
  passwordImap: boolean
  microsoftCloud: MicrosoftCloud | null
  status: "pending" | "completed" | "failed" | (string & {})
  /** The address of the account that is to sign in again. */
  reauthEmail: string | null
  loginHint: string | null
  /** A time (RFC 3339). */
  expiresAt: string
}

export interface Identity {
  id: string
  /** The display name in From, if a send names none. */
  name: string | null
  address: string
  /** `primary`: the account’s own address. `provider`: an address that the provider offers. `custom`: added here. */
  source: "primary" | "provider" | "custom" | (string & {})
  /** The signature that was set here. */
  signature: Signature | null
  /** The signature that was set at the provider; used if `signature` is null. */
  providerSignature: Signature | null
}

export interface IdentityCollection {
  items: Identity[]
  /**
   * When the provider’s list was read; null if the provider has none, as on IMAP.
   * A time (RFC 3339).
   */
  refreshedAt: string | null
}

export interface Issue {
  path: (string | number)[]
  message: string
}

export interface MailMerge {
  /** One for each entry, in their order. */
  items: MailMergeItem[]
}

export interface MailMergeEntryInput {
  /** As in a send. A mistake in it is an error of this entry alone. */
  to: {
    /** The display name. */
    name?: string | null
    address: string
  }
  /** Values for the template, at most 256 KB. Default: `render.params`. */
  params?: Record<string, unknown>
  /**
   * Default: `reference` of the merge.
   * At most 255 characters.
   */
  reference?: string | null
  /**
   * Default: `sendAt` of the merge.
   * A time (RFC 3339).
   */
  sendAt?: string | null
}

export interface MailMergeItem {
  /** The place of the entry in the request, from 0. */
  index: number
  /** As in the request; cut to 320 characters. */
  address: string
  /** The same for all entries. `GET …/outbox?mailMergeId=…` lists them. */
  mailMergeId: string
  /** The entry of the outbox; null if the entry was not queued. */
  outboxId: string | null
  /** Why it was not queued. */
  error: {
    reason: "invalid_input" | "params_too_large" | "template_render_failed" | "suppressed" | "plan_limit_sends" | "attachments_too_large" | (string & {})
    message: string
  } | null
}

export interface MailServer {
  host: string
  port: number
  /** `tls` encrypts from the first byte, `starttls` upgrades a plain connection, `none` never encrypts. */
  security: "tls" | "starttls" | "none" | (string & {})
  /** The login name. */
  user: string
}

export interface MailServerInput {
  /** From 1 to 253 characters. */
  host: string
  /** From 1 to 65535. */
  port: number
  /** Default: `tls` on ports 993 and 465, otherwise `starttls`. `none` works only if the operator allows it. */
  security?: "tls" | "starttls" | "none"
  /**
   * Default: the account’s email address.
   * From 1 to 320 characters.
   */
  user?: string
}

export interface MailSettings {
  /** Whether sends that do not say `sign` get the signature of their identity. Starts false. */
  signByDefault: boolean
}

export interface Mailbox {
  id: string
  /** The last part of `path`. */
  name: string
  /** The full name, with `/` between the levels. */
  path: string
  /** Null at the top level. */
  parentId: string | null
  /** The purpose of the mailbox; `custom` if it has no special one. */
  role: "inbox" | "sent" | "drafts" | "trash" | "junk" | "archive" | "all" | "important" | "custom" | (string & {})
  /** A message is in exactly one `folder`, but can have several `label`s. */
  kind: "folder" | "label" | (string & {})
  /** The provider’s count; null if it reports none. */
  totalCount: number | null
  /** The provider’s count; null if it reports none. */
  unreadCount: number | null
}

export interface MailboxCollection {
  items: Mailbox[]
}

export interface MailboxIntegrity {
  mailboxId: string
  /**
   * When it was last compared; null before the first time.
   * A time (RFC 3339).
   */
  comparedAt: string | null
  /**
   * Messages that the provider listed, within the sync window.
   * At least 0.
   */
  listed: number
  /**
   * Messages that the index had.
   * At least 0.
   */
  indexed: number
  /**
   * Messages, contacts or events that the provider listed and the index lacked.
   * At least 0.
   */
  missing: number
  /**
   * Messages, contacts or events of the index that the provider did not list.
   * At least 0.
   */
  extra: number
  /**
   * Messages whose flags or categories differed, and contacts or events of another version.
   * At least 0.
   */
  changed: number
  /**
   * Differences of this comparison, or of those that led to it, that were repaired since.
   * At least 0.
   */
  repaired: number
}

export interface MailboxReference {
  id: string
  /** The last part of `path`. */
  name: string
  /** The full name, with `/` between the levels. */
  path: string
  /** The purpose of the mailbox; `custom` if it has no special one. */
  role: "inbox" | "sent" | "drafts" | "trash" | "junk" | "archive" | "all" | "important" | "custom" | (string & {})
  /** A message is in exactly one `folder`, but can have several `label`s. */
  kind: "folder" | "label" | (string & {})
}

export interface McpSendPolicy {
  /** Permission of an AI assistant: send, send after a person’s confirmation, or only write drafts. */
  mode: "allow" | "confirm" | "drafts_only" | (string & {})
  /** Null: any domain. Empty: only the account’s own domain. */
  allowedRecipientDomains: string[] | null
  /**
   * Sends per credential and UTC day; null: no limit.
   * From 1 to 10000.
   */
  dailySendLimit: number | null
  /** Whether a person must confirm a send to an address that the account has never written to. */
  externalRecipientConfirmation: boolean
}

export interface MeetingConnection {
  service: MeetingService
  /** The user at the service. */
  email: string | null
  displayName: string | null
  /** The app that the grant was given to; null: the operator’s. */
  meetingAppId: string | null
  status: "active" | "reauth_required" | (string & {})
  statusReason: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  updatedAt: string
}

/** A service for online meetings. */
export type MeetingService = "zoom" | "webex" | (string & {})

export interface Message {
  id: string
  /**
   * The thread that the message belongs to.
   * From 1 to 1024 characters.
   */
  threadId: string | null
  /** The Message-ID, in angle brackets. */
  internetMessageId: string | null
  /** One folder, or any number of labels. */
  mailboxIds: string[]
  subject: string | null
  from: Address | null
  to: Address[]
  cc: Address[]
  /** The first words of the text. */
  snippet: string
  /**
   * When the message arrived in the mailbox, as the provider reports it.
   * A time (RFC 3339).
   */
  receivedAt: string
  /**
   * The Date field of the message.
   * A time (RFC 3339).
   */
  sentAt: string | null
  isRead: boolean
  isFlagged: boolean
  isDraft: boolean
  hasAttachments: boolean
  /** The provider’s categories. */
  categories: string[]
  /** `outbound` if the message is in the sent mailbox or is from the account’s own address or one of its identities. This includes drafts. */
  direction: "inbound" | "outbound" | (string & {})
  /** The send through this API that this message is a copy of. */
  outboxId: string | null
  /** The `reference` of that send. */
  reference: string | null
  /** `normal` if the message has none. */
  importance: "high" | "normal" | "low" | (string & {}) | null
  /** Usually known only for drafts and sent mail. */
  bcc: Address[]
  /** Addresses for replies, if not `from`. */
  replyTo: Address[]
  /** A field is null if the message has no such part, or if the part cannot be shown whole. Each is at most 5 MiB; a longer text is an attachment. The HTML is exactly what the sender wrote. */
  body: {
    text: string | null
    html: string | null
  }
  attachments: Attachment[]
  /** The kind of message, if it answers a send through this API or reports about one. Null while it is undecided. */
  classification: Classification | null
}

export interface MessageCriteria {
  /** In one of these mailboxes, or in one with a role of `mailboxRoles`. */
  mailboxIds: string[]
  /** In a mailbox with one of these roles, or in one of `mailboxIds`. */
  mailboxRoles: ("inbox" | "sent" | "drafts" | "trash" | "junk" | "archive" | "all" | "important" | "custom" | (string & {}))[]
  /** From one of these: an address, or `@` and a domain, which means exactly that domain. */
  from: string[]
  /** To one of these in To or Cc, compared like `from`. */
  to: string[]
  /** With one of these phrases in the subject. */
  subjectContains: string[]
  /** With attachments (true), without (false), or either (null). */
  hasAttachments: boolean | null
  /** Sent by the account, received, or either (null). */
  direction: "outbound" | "inbound" | (string & {}) | null
}

export interface MessageSummary {
  id: string
  /**
   * The thread that the message belongs to.
   * From 1 to 1024 characters.
   */
  threadId: string | null
  /** The Message-ID, in angle brackets. */
  internetMessageId: string | null
  /** One folder, or any number of labels. */
  mailboxIds: string[]
  subject: string | null
  from: Address | null
  to: Address[]
  cc: Address[]
  /** The first words of the text. */
  snippet: string
  /**
   * When the message arrived in the mailbox, as the provider reports it.
   * A time (RFC 3339).
   */
  receivedAt: string
  /**
   * The Date field of the message.
   * A time (RFC 3339).
   */
  sentAt: string | null
  isRead: boolean
  isFlagged: boolean
  isDraft: boolean
  hasAttachments: boolean
  /** The provider’s categories. */
  categories: string[]
  /** `outbound` if the message is in the sent mailbox or is from the account’s own address or one of its identities. This includes drafts. */
  direction: "inbound" | "outbound" | (string & {})
  /** The send through this API that this message is a copy of. */
  outboxId: string | null
  /** The `reference` of that send. */
  reference: string | null
  /** `normal` if the message has none. */
  importance: "high" | "normal" | "low" | (string & {}) | null
}

export interface MessageSummaryPage {
  items: MessageSummary[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

/** The Microsoft cloud that the account is in. */
export type MicrosoftCloud = "global" | "gcc-high" | "dod" | "china" | (string & {})

/** The Microsoft cloud that the account is in. */
export type MicrosoftCloudGiven = "global" | "gcc-high" | "dod" | "china"

export interface OAuthApp {
  id: string
  provider: OAuthProvider
  name: string
  clientId: string
  /** Microsoft apps only. */
  cloud: MicrosoftCloud | null
  /** Register it with the app at the provider. It is always the same. */
  redirectUri: string
  /** Scopes that users are asked for, for mail, calendars and contacts; null: the defaults. */
  scopes: string[] | null
  credentialType: "secret" | "certificate" | (string & {})
  /** Google apps only. Null: mailboxes are polled. */
  gmailPush: GmailPush | null
  /** Accounts that signed in with the app and are not deleted. */
  accounts: number
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface OAuthAppCollection {
  items: OAuthApp[]
}

export interface OAuthAuthorization {
  /** Shown only this once. */
  authorizeUrl: string
}

/** The provider that a user signs in with. */
export type OAuthProvider = "google" | "microsoft" | (string & {})

/** The provider that a user signs in with. */
export type OAuthProviderGiven = "google" | "microsoft"

/** Reaction to a reply that asks for no more mail: nothing, a review, or a suppression. */
export type OptOutHandling = "off" | "review" | "suppress" | (string & {})

/** Reaction to a reply that asks for no more mail: nothing, a review, or a suppression. */
export type OptOutHandlingGiven = "off" | "review" | "suppress"

export interface OutboxEntry {
  id: string
  accountId: string
  /** `queued` until it is due, and again between two attempts; `sending` while it is handed over, or while it is being found out whether that succeeded; then `sent`, `failed` or `cancelled`. */
  status: "queued" | "sending" | "sent" | "failed" | "cancelled" | (string & {})
  from: Address
  to: Address[]
  cc: Address[]
  bcc: Address[]
  replyTo: Address[]
  subject: string | null
  /** The first words of the text. */
  snippet: string
  hasAttachments: boolean
  /** Bytes of the whole message. */
  size: number
  importance: "high" | "normal" | "low" | (string & {}) | null
  /** The message that this one replies to. */
  inReplyTo: string | null
  /** The draft that was sent. */
  draftId: string | null
  /** The template that it was rendered from, which may be gone. */
  templateId: string | null
  /** The suppression list that the send named. */
  listId: string | null
  /** The mail merge that it belongs to. */
  mailMergeId: string | null
  reference: string | null
  trackOpens: boolean
  trackClicks: boolean
  /** The Message-ID, in angle brackets. */
  internetMessageId: string
  /** The copy in the mailbox of sent mail, as soon as it is indexed; null if it is gone. */
  messageId: string | null
  /**
   * Of a reply known from the start, otherwise with `messageId`.
   * From 1 to 1024 characters.
   */
  threadId: string | null
  /**
   * When it is due, after the time in which it can be undone.
   * A time (RFC 3339).
   */
  sendAt: string
  /** How many attempts have ended. */
  attempts: number
  /**
   * When it is tried next. A sent message may still be tried for some of its recipients.
   * A time (RFC 3339).
   */
  nextAttemptAt: string | null
  /** Error of the last attempt. */
  lastError: SendError | null
  /** Recipients that the server refused for good. */
  rejectedRecipients: ({
    address: string
    /** The enhanced status code (RFC 3463), such as `5.1.1`. */
    status: string
    /** The text of the server. */
    message: string
  })[]
  /** A time (RFC 3339). */
  sentAt: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface OutboxEntryPage {
  items: OutboxEntry[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface PlanLimits {
  /** Accounts that are not deleted, whatever their status; null: unlimited. */
  maxAccounts: number | null
  /** Messages that may be queued on one day in UTC; null: unlimited. */
  sendsPerDay: number | null
  /** Webhook endpoints, disabled ones included; null: as many as the service allows. */
  webhookEndpoints: number | null
  /** Bytes of stored bodies; null: unlimited. */
  storageBytes: number | null
  /** Whether `bodyStorage` may be `cache` or `full`. */
  bodyStorageAllowed: boolean
  /** Requests of the tenant in one minute; null: unlimited. */
  apiCallsPerMinute: number | null
  /** Requests of one credential in one minute; null: unlimited. */
  apiCallsPerMinutePerKey: number | null
  /** Modules that the plan includes besides mail. */
  modules: ("calendar" | "contacts" | "tracking" | "ai" | "meetings" | "sharedMailboxes" | (string & {}))[]
  /** Usage that a base fee covers. Null: the operator does not bill by the service. */
  included: null
  /** Prices. Null: the operator does not bill by the service. */
  pricing: null
}

export interface RefusalReason {
  /** `busy`: an event overlaps the slot. `buffer`: one overlaps only its buffers. `outside_hours`: the slot does not lie within one range of `hours`. `unresolved`: it is unknown when the account or attendee is busy. */
  code: "busy" | "buffer" | "outside_hours" | "unresolved" | (string & {})
  /** The account that is not free. */
  accountId: string | null
  /** The attendee who is not free. */
  address: string | null
  /** The first event that is in the way; null for attendees. */
  eventId: string | null
  /**
   * When that event, or the busy time of the attendee, starts.
   * A time (RFC 3339).
   */
  start: string | null
  /** A time (RFC 3339). */
  end: string | null
}

export interface RefusedSlot {
  /** A time (RFC 3339). */
  start: string
  /** A time (RFC 3339). */
  end: string
  reasons: RefusalReason[]
}

export interface RenderInput {
  /** The values of `{{params.…}}`, at most 256 KB as JSON. */
  params?: Record<string, unknown>
  /** At most 2000 characters. */
  subject?: string | null
  /** At most 1000000 characters. */
  html?: string | null
  /**
   * Default: with the format `markdown` the Markdown, else the text of `html`.
   * At most 1000000 characters.
   */
  text?: string | null
  /**
   * Text that mail programs show beside the subject. It is put at the top of the HTML, hidden.
   * At most 2000 characters.
   */
  previewText?: string | null
  /** Default: `html`. */
  format?: "html" | "markdown" | null
}

export interface RenderedTemplate {
  subject: string | null
  /** As it is sent: from Markdown, with the preview at its top. */
  html: string | null
  text: string | null
  previewText: string | null
}

export interface ReplayedEvents {
  /** Events that were queued. */
  queued: number
  /** Events that were waiting already. */
  alreadyQueued: number
}

export interface RequestedSync {
  /** The requested kinds. */
  kinds: ("mail" | "calendar" | "contacts" | (string & {}))[]
}

export interface RotatedWebhookSecret {
  /** Begins with `whsec_`. Shown only here. */
  secret: string
  /**
   * The end of the grace period; null without one.
   * A time (RFC 3339).
   */
  previousSecretExpiresAt: string | null
}

export interface SearchPage {
  items: SearchResult[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
  /** Where the search was answered. */
  source: "index" | "provider" | (string & {})
}

export interface SearchResult {
  /** Null for a message that only the provider has; it cannot be opened here. */
  id: string | null
  /**
   * The thread that the message belongs to.
   * From 1 to 1024 characters.
   */
  threadId: string | null
  /** The Message-ID, in angle brackets. */
  internetMessageId: string | null
  /** One folder, or any number of labels. */
  mailboxIds: string[]
  subject: string | null
  from: Address | null
  to: Address[]
  cc: Address[]
  /** The first words of the text. */
  snippet: string
  /**
   * When the message arrived in the mailbox, as the provider reports it.
   * A time (RFC 3339).
   */
  receivedAt: string
  /**
   * The Date field of the message.
   * A time (RFC 3339).
   */
  sentAt: string | null
  isRead: boolean
  isFlagged: boolean
  isDraft: boolean
  hasAttachments: boolean
  /** The provider’s categories. */
  categories: string[]
  /** `outbound` if the message is in the sent mailbox or is from the account’s own address or one of its identities. This includes drafts. */
  direction: "inbound" | "outbound" | (string & {})
  /** The send through this API that this message is a copy of. */
  outboxId: string | null
  /** The `reference` of that send. */
  reference: string | null
  /** `normal` if the message has none. */
  importance: "high" | "normal" | "low" | (string & {}) | null
}

export interface SendError {
  /** `outcome_unknown`: nothing proves whether the server accepted the message, since the connection was lost after it was handed over, or since the database was restored to an earlier state. It is never sent again by itself. */
  reason: "provider_rejected" | "provider_throttled" | "provider_unavailable" | "provider_forbidden" | "login_failed" | "server_not_allowed" | "attachments_too_large" | "suppressed" | "storage_unavailable" | "account_paused" | "account_disabled" | "account_reauth_required" | "account_misconfigured" | "outcome_unknown" | (string & {})
  /** For people. Where the server refused, it is the text of the server. */
  message: string
}

export interface SendTracking {
  trackOpens: boolean
  trackClicks: boolean
  opens: {
    /** Of people. */
    count: number
    /** Of programs. */
    machineCount: number
    /**
     * Of people.
     * A time (RFC 3339).
     */
    firstAt: string | null
    /**
     * Of people.
     * A time (RFC 3339).
     */
    lastAt: string | null
  }
  clicks: {
    /** Of people. */
    count: number
    /** Of programs. */
    machineCount: number
    /**
     * Of people.
     * A time (RFC 3339).
     */
    firstAt: string | null
    /**
     * Of people.
     * A time (RFC 3339).
     */
    lastAt: string | null
    /** Links with most clicks first, at most 200. */
    links: ({
      url: string
      /** Clicks of people. */
      count: number
    })[]
  }
  /** Newest first, at most 200. */
  items: ({
    type: "open" | "click" | (string & {})
    /** Of a click. */
    url: string | null
    /** Whether it was a program rather than a person. */
    isMachine: boolean
    /** Null unless the operator turned addresses on. */
    ip: string | null
    userAgent: string | null
    /** A time (RFC 3339). */
    occurredAt: string
  })[]
}

export interface SharedAvailability {
  slots: SharedSlot[]
  /** In the order of the request, without those that are unresolved. */
  accounts: AccountBusy[]
  /** In the order of the request, repeated addresses once. */
  attendees: AttendeeBusy[]
  /** Whether all busy times are known. False while an account or an attendee is unresolved, or if a series of a counted calendar has more occurrences than the index holds. */
  complete: boolean
  /** Ids of the accounts and addresses of the attendees whose busy times are unknown. */
  unresolved: string[]
  /** Whether there are more slots. The answer has the first 2,000. */
  truncated: boolean
  /** Present if `explain` was true. */
  explanation?: AvailabilityExplanation
}

export interface SharedSlot {
  /** A time (RFC 3339). */
  start: string
  /**
   * It does not belong to the range.
   * A time (RFC 3339).
   */
  end: string
  /** The accounts that are free, in the order of the request. */
  accountIds: string[]
}

/** Text below a message, for its HTML and its text part. */
export interface Signature {
  html: string | null
  text: string | null
}

export interface SuppressionEntry {
  /** In lower case, with the domain as A-labels. */
  address: string
  /** `unsubscribe`: by the link of a message. `bounce`: the address does not exist. `reply`: asked for in a reply. `complaint`: reported as spam. `inactive`: the person left the address. `api`: added here. */
  source: SuppressionSource
  /** For people. Empty if none was given. */
  reason: string
  /** A time (RFC 3339). */
  createdAt: string
}

export interface SuppressionEntryPage {
  items: SuppressionEntry[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface SuppressionList {
  id: string
  name: string
  description: string | null
  /** How many addresses are on it. */
  count: number
  /** How many of them came from each source. */
  counts: {
    unsubscribe: number
    bounce: number
    api: number
    reply: number
    complaint: number
    inactive: number
  }
  /**
   * Null for the global list.
   * A time (RFC 3339).
   */
  createdAt: string | null
}

export interface SuppressionListCollection {
  items: SuppressionList[]
}

export interface SuppressionReview {
  id: string
  /** The list that the address is put on when the review is approved. */
  listId: string
  address: string
  source: SuppressionSource
  accountId: string
  /** The message that was detected, which may be gone. */
  messageId: string
  /**
   * How certain the detection is.
   * From 0 to 1.
   */
  probability: number
  /** Other addresses that the message names. */
  alternateContacts: string[]
  /** A time (RFC 3339). */
  createdAt: string
}

export interface SuppressionReviewPage {
  items: SuppressionReview[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export type SuppressionSource = "unsubscribe" | "bounce" | "api" | "reply" | "complaint" | "inactive" | (string & {})

export type SuppressionSourceGiven = "unsubscribe" | "bounce" | "api" | "reply" | "complaint" | "inactive"

export interface Template {
  id: string
  /** The account that may use it; null: every account of the tenant. */
  accountId: string | null
  /** Unique among the templates of its account, or among the shared ones. */
  name: string
  description: string | null
  /** `react-email`: rendered in code and uploaded under its name. */
  source: "handlebars" | "react-email" | (string & {})
  /** Your own identifier for the template. */
  externalRef: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  updatedAt: string
  subject: string | null
  html: string | null
  text: string | null
  previewText: string | null
  /** With `markdown`, `html` holds Markdown of GitHub’s flavour, without HTML in it. */
  format: "html" | "markdown" | (string & {})
}

export interface TemplateSummary {
  id: string
  /** The account that may use it; null: every account of the tenant. */
  accountId: string | null
  /** Unique among the templates of its account, or among the shared ones. */
  name: string
  description: string | null
  /** `react-email`: rendered in code and uploaded under its name. */
  source: "handlebars" | "react-email" | (string & {})
  /** Your own identifier for the template. */
  externalRef: string | null
  /** A time (RFC 3339). */
  createdAt: string
  /** A time (RFC 3339). */
  updatedAt: string
}

export interface TemplateSummaryPage {
  items: TemplateSummary[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface TenantSettings {
  bodyStorage: BodyStorage
  /**
   * How many days of mail the index holds; null holds the full history.
   * From 1 to 36500.
   */
  syncWindowDays: number | null
  /** Sync calendars, if the account has any. */
  calendarEnabled: boolean
  /** Sync contacts, if the account has any. */
  contactsEnabled: boolean
  /**
   * Seconds that a send waits before it leaves, so that it can be cancelled.
   * From 0 to 60.
   */
  undoSendSeconds: number
  /** Report when a sent message is opened. */
  trackOpens: boolean
  /** Report when a link in a sent message is clicked. */
  trackClicks: boolean
  /** Add a link that only machines follow, to tell their clicks from those of people. */
  trackingHoneypot: boolean
  optOutHandling: OptOutHandling
  /**
   * Days that events stay in the change feed.
   * From 7 to 30.
   */
  eventRetentionDays: number
  /**
   * URIs that users may be sent back to after a sign-in.
   * At most 50 items.
   */
  redirectUris: string[]
  /** Classify replies with a language model. */
  aiReplyClassification: boolean
  mcpSendPolicy: McpSendPolicy
}

export interface Thread {
  /** From 1 to 1024 characters. */
  id: string
  /** The subject of the latest message. */
  subject: string | null
  /** The snippet of the latest message. */
  snippet: string
  /** Everybody in From, To and Cc, each address once. */
  participants: Address[]
  messageCount: number
  unreadCount: number
  /** Whether any message is flagged. */
  isFlagged: boolean
  /** Whether any message has attachments. */
  hasAttachments: boolean
  /** Whether any message is a draft. */
  hasDrafts: boolean
  /** The mailboxes of all its messages. */
  mailboxIds: string[]
  latestMessageId: string
  /**
   * `receivedAt` of the latest message.
   * A time (RFC 3339).
   */
  lastMessageAt: string
  /** Oldest first. */
  messages: MessageSummary[]
}

export interface ThreadSummary {
  /** From 1 to 1024 characters. */
  id: string
  /** The subject of the latest message. */
  subject: string | null
  /** The snippet of the latest message. */
  snippet: string
  /** Everybody in From, To and Cc, each address once. */
  participants: Address[]
  messageCount: number
  unreadCount: number
  /** Whether any message is flagged. */
  isFlagged: boolean
  /** Whether any message has attachments. */
  hasAttachments: boolean
  /** Whether any message is a draft. */
  hasDrafts: boolean
  /** The mailboxes of all its messages. */
  mailboxIds: string[]
  latestMessageId: string
  /**
   * `receivedAt` of the latest message.
   * A time (RFC 3339).
   */
  lastMessageAt: string
}

export interface ThreadSummaryPage {
  items: ThreadSummary[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface TimeRange {
  /** A time (RFC 3339). */
  start: string
  /**
   * It does not belong to the range.
   * A time (RFC 3339).
   */
  end: string
}

export interface UsageDay {
  /** The day in UTC. */
  date: string
  /**
   * The most active accounts at one time, sampled every ten minutes.
   * At least 0.
   */
  liveAccounts: number
  /** Requests that were within the request limits, by the scope of their operation. */
  apiCalls: {
    /** At least 0. */
    read: number
    /** At least 0. */
    write: number
    /** At least 0. */
    send: number
    /** At least 0. */
    admin: number
  }
  /**
   * Messages that were delivered to the provider.
   * At least 0.
   */
  sends: number
  /**
   * Deliveries that were acknowledged, replays included, tests not.
   * At least 0.
   */
  webhookDeliveries: number
  /**
   * Calls of language models.
   * At least 0.
   */
  aiCalls: number
  /**
   * Bytes of stored bodies at the end of the day; null until they were listed, soon after its end.
   * At least 0.
   */
  storedBytes: number | null
}

export interface UsageReport {
  plan: {
    /** Null: the tenant has no plan. */
    id: string | null
    /** `Platform defaults` without a plan. */
    name: string
    limits: PlanLimits
  }
  current: {
    /**
     * Accounts that are not deleted, whatever their status.
     * At least 0.
     */
    accounts: number
    /** At least 0. */
    webhookEndpoints: number
    /**
     * Messages that were queued today in UTC.
     * At least 0.
     */
    sendsToday: number
    /**
     * Bytes of stored bodies.
     * At least 0.
     */
    storedBytes: number
  }
  /** Oldest first. Days without usage are left out. */
  days: UsageDay[]
}

export interface WebhookAttempt {
  id: string
  eventId: EventId
  eventType: EventType
  /** The event’s. */
  accountId: string | null
  /** Counts the attempts of a delivery from 1. */
  attempt: number
  /** Null without an answer. */
  statusCode: number | null
  /** Why there was no answer; null if there was one. */
  error: "timeout" | "dns_failed" | "connection_refused" | "connection_reset" | "connection_failed" | "tls_failed" | "server_not_allowed" | "invalid_answer" | (string & {}) | null
  /** The first 1,000 characters of an answer that is text, without control characters. */
  responseExcerpt: string | null
  durationMs: number
  isReplay: boolean
  isTest: boolean
  /**
   * When it began.
   * A time (RFC 3339).
   */
  occurredAt: string
}

export interface WebhookAttemptPage {
  items: WebhookAttempt[]
  /**
   * The cursor of the next page; null on the last page.
   * From 1 to 512 characters.
   */
  nextCursor: string | null
}

export interface WebhookEndpoint {
  id: string
  url: string
  description: string | null
  filters: WebhookFilters
  isEnabled: boolean
  /** `failing`: nothing succeeded for five days. `gone`: the endpoint answered 410. Null while it is enabled, and if it was disabled by a request. */
  disabledReason: "failing" | "gone" | (string & {}) | null
  /** A time (RFC 3339). */
  lastSuccessAt: string | null
  /**
   * The first failure after the last success; null if nothing failed since.
   * A time (RFC 3339).
   */
  failingSince: string | null
  /**
   * Until when deliveries are also signed with the secret before the last rotation.
   * A time (RFC 3339).
   */
  previousSecretExpiresAt: string | null
  /** A time (RFC 3339). */
  createdAt: string
}

export interface WebhookEndpointCollection {
  items: WebhookEndpoint[]
}

export interface WebhookFilters {
  /** Empty: events of every type, later types included. */
  eventTypes: EventType[]
  /** Empty: every account. Otherwise events that concern no account are not delivered either. */
  accountIds: string[]
  /** Narrows the events `message.*` and `send.*`; all others pass. Every criterion that is set must match, by any one of its values. A criterion that an event cannot answer does not match. */
  message: MessageCriteria
}

export interface WebhookFiltersInput {
  /**
   * Empty: events of every type, later types included.
   * At most 100 items.
   */
  eventTypes?: EventTypeGiven[] | null
  /**
   * Empty: every account. Otherwise events that concern no account are not delivered either.
   * At most 100 items.
   */
  accountIds?: string[] | null
  /** Narrows the events `message.*` and `send.*`; all others pass. Every criterion that is set must match, by any one of its values. A criterion that an event cannot answer does not match. */
  message?: {
    /**
     * In one of these mailboxes, or in one with a role of `mailboxRoles`.
     * At most 100 items.
     */
    mailboxIds?: string[] | null
    /**
     * In a mailbox with one of these roles, or in one of `mailboxIds`.
     * At most 100 items.
     */
    mailboxRoles?: ("inbox" | "sent" | "drafts" | "trash" | "junk" | "archive" | "all" | "important" | "custom")[] | null
    /**
     * From one of these: an address, or `@` and a domain, which means exactly that domain.
     * At most 100 items.
     */
    from?: string[] | null
    /**
     * To one of these in To or Cc, compared like `from`.
     * At most 100 items.
     */
    to?: string[] | null
    /**
     * With one of these phrases in the subject.
     * At most 100 items.
     */
    subjectContains?: string[] | null
    /** With attachments (true), without (false), or either (null). */
    hasAttachments?: boolean | null
    /** Sent by the account, received, or either (null). */
    direction?: "outbound" | "inbound" | null
  } | null
}

export interface WebhookTest {
  eventId: EventId
}

/** The open hours of each weekday, at most 20 ranges a day. A day without its key is closed. Ranges of one day may not overlap. Ranges that touch are one range, also over midnight. */
export interface WorkingHours {
  /** At most 20 items. */
  mon?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
  /** At most 20 items. */
  tue?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
  /** At most 20 items. */
  wed?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
  /** At most 20 items. */
  thu?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
  /** At most 20 items. */
  fri?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
  /** At most 20 items. */
  sat?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
  /** At most 20 items. */
  sun?: ({
    /** `HH:MM`. */
    start: string
    /** `HH:MM`, after `start`. `24:00` is the end of the day. */
    end: string
  })[]
}
