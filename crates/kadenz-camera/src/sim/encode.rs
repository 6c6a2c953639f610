//! The encoders of a simulated camera.

#[cfg(feature = "h264")]
pub(crate) use h264::H264Encoder;

pub(crate) use super::jpeg::JpegEncoder;
use super::{Options, Protocol, SimError};
use crate::picture::Size;
use crate::source::test_pattern::Pattern;

/// The encoder of a protocol's pictures.
pub(super) enum Encoder {
    Jpeg(Box<JpegEncoder>),
    #[cfg(feature = "h264")]
    H264(Box<H264Encoder>),
}

impl Encoder {
    pub(super) fn new(options: &Options) -> Result<Self, SimError> {
        match options.protocol {
            Protocol::Http => Ok(Self::Jpeg(Box::new(JpegEncoder::new(85)))),
            #[cfg(feature = "h264")]
            Protocol::Rtsp => Ok(Self::H264(Box::new(H264Encoder::new(options)?))),
            #[cfg(not(feature = "h264"))]
            Protocol::Rtsp => Err(SimError::Encoder(
                "this build has no encoder of H.264; build with the feature `h264`".to_owned(),
            )),
        }
    }

    /// Encodes a picture; returns whether it is a key, and its units.
    pub(super) fn encode(&mut self, pattern: &Pattern) -> Result<(bool, Vec<Vec<u8>>), SimError> {
        match self {
            Self::Jpeg(encoder) => {
                let Size { width, height } = pattern.size();
                let jpeg = encoder.encode(width as usize, height as usize, pattern.planes());
                Ok((true, vec![jpeg]))
            }
            #[cfg(feature = "h264")]
            Self::H264(encoder) => encoder.encode(pattern),
        }
    }
}

#[cfg(feature = "h264")]
mod h264 {
    use openh264::OpenH264API;
    use openh264::encoder::{
        Complexity, Encoder, EncoderConfig, FrameRate, IntraFramePeriod, Profile, RateControlMode,
        SpsPpsStrategy, VuiConfig,
    };
    use openh264::formats::YUVSlices;

    use super::super::{Options, SimError};
    use crate::source::test_pattern::Pattern;
    use crate::wire::video::annex_b::{self, NalCodec};

    /// openh264's encoder with cameras' usual settings: constrained baseline, a key at fixed intervals, one reference.
    pub(crate) struct H264Encoder {
        encoder: Encoder,
        keys_every: u64,
        count: u64,
    }

    impl H264Encoder {
        pub(crate) fn new(options: &Options) -> Result<Self, SimError> {
            let hz = options.rate.as_hz_f64() as f32;
            let config = EncoderConfig::new()
                .profile(Profile::Baseline)
                .complexity(Complexity::Low)
                .rate_control_mode(RateControlMode::Off)
                .max_frame_rate(FrameRate::from_hz(hz))
                .skip_frames(false)
                .scene_change_detect(false)
                .background_detection(false)
                .adaptive_quantization(false)
                .num_threads(1)
                .sps_pps_strategy(SpsPpsStrategy::ConstantId)
                .intra_frame_period(IntraFramePeriod::from_num_frames(options.keys_every))
                .vui(VuiConfig::bt709());
            let encoder = Encoder::with_api_config(OpenH264API::from_source(), config);
            let encoder = encoder.map_err(|error| SimError::Encoder(error.to_string()))?;
            let keys_every = u64::from(options.keys_every.max(1));
            Ok(Self {
                encoder,
                keys_every,
                count: 0,
            })
        }

        pub(crate) fn encode(
            &mut self,
            pattern: &Pattern,
        ) -> Result<(bool, Vec<Vec<u8>>), SimError> {
            let size = pattern.size();
            let (width, height) = (size.width as usize, size.height as usize);
            let [y, u, v] = pattern.planes();
            let planes = YUVSlices::new((y, u, v), (width, height), (width, width / 2, width / 2));
            if self.count > 0 && self.count.is_multiple_of(self.keys_every) {
                self.encoder.force_intra_frame();
            }
            self.count += 1;
            let encoded = self.encoder.encode(&planes);
            let encoded = encoded.map_err(|error| SimError::Encoder(error.to_string()))?;
            let stream = encoded.to_vec();
            let units = annex_b::units(&stream).map(<[u8]>::to_vec).collect();
            Ok((NalCodec::H264.is_key(&stream), units))
        }
    }
}
