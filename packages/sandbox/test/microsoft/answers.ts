import type {
  Calendar,
  Contact,
  ContactFolder,
  Event,
  EventMessageRequest,
  FileAttachment,
  ItemAttachment,
  MailFolder,
  MailSearchFolder,
  Message,
  OutlookCategory,
  ProfilePhoto,
  ReferenceAttachment,
  ScheduleInformation,
  Subscription,
  UploadSession,
} from '@microsoft/microsoft-graph-types'

/** The answers of the API, in the types that Microsoft publishes. */
export interface Answers {
  calendar: Calendar
  event: Event
  schedule: ScheduleInformation
  category: OutlookCategory
  contact: Contact
  contactFolder: ContactFolder
  photo: ProfilePhoto
  fileAttachment: FileAttachment
  eventMessageRequest: EventMessageRequest
  itemAttachment: ItemAttachment
  folder: MailFolder
  message: Message
  referenceAttachment: ReferenceAttachment
  searchFolder: MailSearchFolder
  subscription: Subscription
  uploadSession: UploadSession
}
