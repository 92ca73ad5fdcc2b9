import type { gmail_v1 as gmail } from '@googleapis/gmail'

/** The answers of the API, in the types that Google publishes. */
export interface Answers {
  attachment: gmail.Schema$MessagePartBody
  draft: gmail.Schema$Draft
  drafts: gmail.Schema$ListDraftsResponse
  history: gmail.Schema$ListHistoryResponse
  label: gmail.Schema$Label
  labels: gmail.Schema$ListLabelsResponse
  message: gmail.Schema$Message
  messages: gmail.Schema$ListMessagesResponse
  profile: gmail.Schema$Profile
  sendAs: gmail.Schema$SendAs
  sendAsList: gmail.Schema$ListSendAsResponse
  thread: gmail.Schema$Thread
  threads: gmail.Schema$ListThreadsResponse
  watch: gmail.Schema$WatchResponse
}
