//! Opening a character a step at a time: a browser's tab shows pictures between two steps, a thread tells how far it is.

use crate::brush::Canvas;
use crate::character::{Character, OpenError, Source};
use crate::document::Document;
use crate::keep::KeepError;
use crate::player::{PlayError, Player};
use crate::recovery::Left;
use sinew_gltf::{Asset, Document as File, RawAsset};
use sinew_show::Wardrobe;
use std::sync::Arc;

/// Why nothing was opened.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// The character is refused.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What a crash has left does not fit it.
    #[error(transparent)]
    Left(#[from] KeepError),
    /// It cannot be played.
    #[error(transparent)]
    Play(#[from] PlayError),
}

/// A document with what is made of it once.
#[derive(Debug)]
pub struct Opened {
    /// The document.
    pub document: Document,
    /// It, in motion.
    pub player: Player,
    /// Its skin at rest.
    pub canvas: Canvas,
}

/// A character on its way in.
#[derive(Debug)]
pub struct Opening {
    source: Source,
    left: Option<Box<Left>>,
    at: At,
}

/// What there is so far.
#[derive(Debug)]
enum At {
    Named,
    Read(Box<File>),
    Understood(Box<RawAsset>),
    Rigged(Box<Asset>),
    Dressed(Box<Asset>, Box<Wardrobe>, Vec<String>),
    Whole(Arc<Character>),
    Playing(Box<Document>, Box<Player>),
}

/// What a step has come to.
#[derive(Debug)]
pub enum Step {
    /// There is more to do.
    More(Opening),
    /// All is there.
    Done(Box<Opened>),
}

/// How many steps there are.
pub const STEPS: usize = crate::words::welcome::STEPS.len();

impl Opening {
    /// Of a character as it is.
    pub fn new(source: Source) -> Self {
        Self { source, left: None, at: At::Named }
    }

    /// Of what a crash has left.
    pub fn again(left: Left) -> Self {
        Self { source: left.source.clone(), left: Some(Box::new(left)), at: At::Named }
    }

    /// Where it comes from: a tab fetches what a file in memory has lost.
    #[cfg(all(target_arch = "wasm32", feature = "window"))]
    pub(crate) fn source_mut(&mut self) -> &mut Source {
        &mut self.source
    }

    /// Steps that are done.
    pub fn done(&self) -> usize {
        match &self.at {
            At::Named => 0,
            At::Read(_) => 1,
            At::Understood(_) => 2,
            At::Rigged(_) => 3,
            At::Dressed(..) => 4,
            At::Whole(_) => 5,
            At::Playing(..) => 6,
        }
    }

    /// What the next step does, in words.
    pub fn what(&self) -> &'static str {
        crate::words::welcome::STEPS[self.done()]
    }

    /// The next step.
    pub fn step(self) -> Result<Step, OpeningError> {
        let Self { source, left, at } = self;
        let at = match at {
            At::Named => At::Read(Box::new(Character::read(&source)?)),
            At::Read(file) => {
                let raw = RawAsset::from_original(source.argument(), *file).map_err(OpenError::from)?;
                At::Understood(Box::new(raw))
            }
            At::Understood(raw) => At::Rigged(Box::new(Character::checked(*raw)?)),
            At::Rigged(asset) => {
                let (wardrobe, worn) = Wardrobe::open(&asset, asset.document.as_ref());
                At::Dressed(asset, Box::new(wardrobe), worn.iter().map(ToString::to_string).collect())
            }
            At::Dressed(asset, wardrobe, worn) => {
                At::Whole(Character::dressed_in(source.clone(), *asset, *wardrobe, &worn))
            }
            At::Whole(character) => {
                let document = match &left {
                    Some(left) => left.restore_on(character)?,
                    None => Document::new(character),
                };
                let player = Player::new(&document, 0)?;
                At::Playing(Box::new(document), Box::new(player))
            }
            At::Playing(document, player) => {
                let canvas = Canvas::new(document.rig());
                return Ok(Step::Done(Box::new(Opened { document: *document, player: *player, canvas })));
            }
        };
        Ok(Step::More(Self { source, left, at }))
    }

    /// All steps that are left; `tell` is told what comes, how many are done, and of how many.
    pub fn finish(self, tell: &dyn Fn(&'static str, usize, usize)) -> Result<Box<Opened>, OpeningError> {
        let mut opening = self;
        loop {
            tell(opening.what(), opening.done(), STEPS);
            match opening.step()? {
                Step::More(next) => opening = next,
                Step::Done(opened) => return Ok(opened),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Step by step and at once, the same character comes in; every step has its words, and what is refused is refused alike.
    #[test]
    fn steps_are_the_whole() -> Result<(), Box<dyn std::error::Error>> {
        let mut opening = Opening::new(Source::BuiltIn("calf".to_owned()));
        let mut said = Vec::new();
        let mut stepped = loop {
            said.push((opening.done(), opening.what()));
            match opening.step()? {
                Step::More(next) => opening = next,
                Step::Done(opened) => break opened,
            }
        };
        assert_eq!(said, crate::words::welcome::STEPS.into_iter().enumerate().collect::<Vec<_>>());
        let mut whole = Player::new(&Document::new(Character::built_in("calf")?), 0)?;
        assert_eq!(stepped.player.frame(0.3).result.positions, whole.frame(0.3).result.positions);
        let bytes: Arc<[u8]> = (*b"glTF").into();
        let broken = Source::Memory { name: "a.glb".to_owned(), bytes };
        let (by_steps, at_once) = (Opening::new(broken.clone()).finish(&|_, _, _| ()), Character::reopen(&broken));
        let told = at_once.err().ok_or("opened")?.to_string();
        assert_eq!(by_steps.err().ok_or("opened")?.to_string(), told);
        Ok(())
    }
}
