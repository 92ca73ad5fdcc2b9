import { type Shape, values } from '../../google/api/shape.ts'

const BODY = values('attachmentId data size')

interface PartShape extends Shape {
  parts: Shape
}

const PART: PartShape = {
  ...values('filename mimeType partId'),
  body: BODY,
  headers: values('name value'),
  get parts() {
    return PART
  },
}

const MESSAGE: Shape = {
  ...values('historyId id internalDate labelIds raw sizeEstimate snippet threadId'),
  payload: PART,
  classificationLabelValues: { labelId: true, fields: values('fieldId selection') },
}
const THREAD: Shape = { ...values('historyId id snippet'), messages: MESSAGE }
const DRAFT: Shape = { id: true, message: MESSAGE }
const LABEL: Shape = {
  ...values(
    'id labelListVisibility messageListVisibility messagesTotal messagesUnread name threadsTotal threadsUnread type',
  ),
  color: values('backgroundColor textColor'),
}
const CHANGED: Shape = { message: MESSAGE }
const RELABELLED: Shape = { message: MESSAGE, labelIds: true }
const HISTORY: Shape = {
  id: true,
  messages: MESSAGE,
  messagesAdded: CHANGED,
  messagesDeleted: CHANGED,
  labelsAdded: RELABELLED,
  labelsRemoved: RELABELLED,
}
const SEND_AS: Shape = {
  ...values(
    'displayName isDefault isPrimary replyToAddress sendAsEmail signature treatAsAlias verificationStatus',
  ),
  smtpMsa: values('host password port securityMode username'),
}
const page = (name: string, item: Shape): Shape => ({
  [name]: item,
  nextPageToken: true,
  resultSizeEstimate: true,
})

/** The bodies and answers of the API, as Google's discovery document names them. */
export const SHAPES = {
  profile: values('emailAddress historyId messagesTotal threadsTotal'),
  message: MESSAGE,
  messages: page('messages', MESSAGE),
  attachment: BODY,
  thread: THREAD,
  threads: page('threads', THREAD),
  draft: DRAFT,
  drafts: page('drafts', DRAFT),
  label: LABEL,
  labels: { labels: LABEL },
  history: { history: HISTORY, historyId: true, nextPageToken: true },
  sendAs: SEND_AS,
  sendAsList: { sendAs: SEND_AS },
  modify: values('addLabelIds removeLabelIds'),
  batchModify: values('addLabelIds ids removeLabelIds'),
  batchDelete: values('ids'),
  watch: values('labelFilterAction labelFilterBehavior labelIds topicName'),
  watched: values('expiration historyId'),
  nothing: {},
} as const satisfies Record<string, Shape>
