import { type Shape, values } from '../../google/api/shape.ts'

const TIME = values('date dateTime timeZone')
const PARTY = values('displayName email id self')
const SOLUTION_KEY = values('type')

/** An event, as Google's discovery document describes it. */
export const EVENT: Shape = {
  ...values(
    'anyoneCanAddSelf attendeesOmitted colorId created description endTimeUnspecified etag eventLabelId eventType guestsCanInviteOthers guestsCanModify guestsCanSeeOtherGuests hangoutLink htmlLink iCalUID id kind location locked privateCopy recurrence recurringEventId sequence status summary transparency updated visibility gadget',
  ),
  attachments: values('fileId fileUrl iconLink mimeType title'),
  attendees: values(
    'additionalGuests asyncOperation comment displayName email id optional organizer resource responseStatus self',
  ),
  birthdayProperties: values('contact customTypeName type'),
  conferenceData: {
    ...values('conferenceId notes parameters signature'),
    conferenceSolution: { ...values('iconUri name'), key: SOLUTION_KEY },
    createRequest: {
      ...values('requestId'),
      conferenceSolutionKey: SOLUTION_KEY,
      status: values('statusCode'),
    },
    entryPoints: values(
      'accessCode entryPointFeatures entryPointType label meetingCode passcode password pin regionCode uri',
    ),
  },
  creator: PARTY,
  end: TIME,
  extendedProperties: values('private shared'),
  focusTimeProperties: values('autoDeclineMode chatStatus declineMessage'),
  organizer: PARTY,
  originalStartTime: TIME,
  outOfOfficeProperties: values('autoDeclineMode declineMessage'),
  reminders: { ...values('useDefault'), overrides: values('method minutes') },
  source: values('title url'),
  start: TIME,
  workingLocationProperties: values('customLocation homeOffice officeLocation type'),
}

const CONFERENCES: Shape = { conferenceProperties: values('allowedConferenceSolutionTypes') }
const REMINDERS: Shape = { defaultReminders: values('method minutes') }
const LIST = values('etag kind nextPageToken nextSyncToken')

export const CALENDAR: Shape = {
  ...values('autoAcceptInvitations dataOwner description etag id kind location summary timeZone'),
  ...CONFERENCES,
  labelProperties: { eventLabels: values('backgroundColor id name') },
}

export const ENTRY: Shape = {
  ...values(
    'accessRole autoAcceptInvitations backgroundColor colorId dataOwner deleted description etag foregroundColor hidden id kind location primary selected summary summaryOverride timeZone',
  ),
  ...CONFERENCES,
  ...REMINDERS,
  notificationSettings: { notifications: values('method type') },
}

export const SHAPES = {
  event: EVENT,
  events: {
    ...LIST,
    ...values('accessRole description summary timeZone updated'),
    ...REMINDERS,
    items: EVENT,
  },
  calendar: CALENDAR,
  entry: ENTRY,
  entries: { ...LIST, items: ENTRY },
  channel: values('address expiration id kind params payload resourceId resourceUri token type'),
  freeBusyRequest: {
    ...values('calendarExpansionMax groupExpansionMax timeMax timeMin timeZone'),
    items: values('id'),
  },
  freeBusy: values('calendars groups kind timeMax timeMin'),
  setting: values('etag id kind value'),
  settings: { ...LIST, items: values('etag id kind value') },
} as const satisfies Record<string, Shape>
